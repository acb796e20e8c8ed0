import Foundation
internal import GRDB

/// Reads a table's rows by their numbers, around what can't be read.
///
/// From both ends until a page stops it, then from the middle of what is left in both directions, and so on: behind a page
/// that is gone there may be others that aren't.
struct HoleReader {
    /// How often is looked for more at most; what is between two keys that close together is given up.
    private static let mostProbes = 4_096
    /// The same for probes that find nothing, one after the other.
    private static let mostVainProbes = 256

    /// Where the rows are.
    let database: Database
    /// Selects rows between two numbers, which are its first two arguments, in ascending order.
    let forward: String
    /// The same in descending order.
    let backward: String
    /// The further arguments.
    var arguments: StatementArguments = []

    /// Reads everything that can be read, much of it twice.
    ///
    /// - Parameters:
    ///   - bound: No row is expected to have a higher number, unless it can be read from the end.
    ///   - take: Takes a row and returns its number.
    /// - Returns: Whether all of it could be read.
    func read(upTo bound: Int64, _ take: (Row) -> Int64?) -> Bool {
        // A table that isn't known is not looked for again and again.
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
