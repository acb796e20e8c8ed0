import Foundation
internal import GRDB

/// Reads a table's rows by their numbers, around unreadable parts.
///
/// It reads from both ends until a page stops it, then from the middle of the rest in both directions, and so on:
/// behind a lost page there may be others that aren't lost.
struct HoleReader {
    /// The maximum number of probes; what is between two close keys is abandoned.
    private static let mostProbes = 4_096
    /// The maximum number of consecutive probes that find nothing.
    private static let mostVainProbes = 256

    /// The database.
    let database: Database
    /// Selects rows between two numbers, its first two arguments, in ascending order.
    let forward: String
    /// Selects them in descending order.
    let backward: String
    /// The further arguments.
    var arguments: StatementArguments = []

    /// Reads all readable rows, many of them twice.
    ///
    /// - Parameters:
    ///   - bound: The highest number to expect, unless the table can be read from the end.
    ///   - take: Takes a row and returns its number.
    /// - Returns: Whether everything could be read.
    func read(upTo bound: Int64, _ take: (Row) -> Int64?) -> Bool {
        // Don't look for an unknown table again and again.
        guard (try? database.cachedStatement(sql: forward)) != nil else { return false }
        let first = scan(forward, 0, .max, take)
        if first.isWhole { return true }
        let last = scan(backward, first.last ?? 0, .max, take)
        if last.isWhole { return false }
        var holes = [(first.last ?? 0, last.last ?? max(bound, first.last ?? 0) + 1)]
        var (next, probes, vain) = (0, 0, 0)
        while next < holes.count, probes < Self.mostProbes, vain < Self.mostVainProbes {
            let (low, high) = holes[next]
            next += 1
            guard high - low > 1 else { continue }
            probes += 2
            let middle = low + (high - low) / 2
            let up = scan(forward, middle - 1, high, take)
            let down = scan(backward, low, middle, take)
            vain = up.last == nil && down.last == nil ? vain + 2 : 0
            if !down.isWhole { holes.append((low, down.last ?? middle)) }
            if !up.isWhole { holes.append((up.last ?? middle, high)) }
        }
        return false
    }

    private func scan(
        _ sql: String,
        _ low: Int64,
        _ high: Int64,
        _ take: (Row) -> Int64?
    ) -> (last: Int64?, isWhole: Bool) {
        var last: Int64?
        do {
            let rows = try Row.fetchCursor(
                database.cachedStatement(sql: sql),
                arguments: StatementArguments([low, high]) + arguments
            )
            while let row = try rows.next() { last = take(row) ?? last }
            return (last, true)
        } catch {
            return (last, false)
        }
    }
}
