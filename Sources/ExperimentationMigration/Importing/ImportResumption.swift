import Experimentation
import Foundation

/// Leaves out the lines that an interrupted import has imported, if they and the mapping are the same.
///
/// Lines can't be read twice, so they are held until a mark confirms them. If the lines or the mapping differ, the held
/// lines and all that follow are imported.
struct ImportResumption: Sendable {
    /// A line with its place among the imported ones.
    struct Line: Sendable, Equatable {
        var number: Int
        var input: ImportLine
    }

    /// A line up to which everything was imported.
    private struct Mark: Sendable, Codable {
        var line: Int
        /// The digest of the mapping and of all lines up to this one.
        var digest: Data
        /// The rejections in these lines, by reason.
        var refused: [String: Int]
    }

    /// The number of lines that are left out.
    private(set) var resumedAfter = 0
    /// The rejections in these lines, by reason.
    private(set) var refused: [String: Int] = [:]
    private var number = 0
    private var digest: [UInt8]
    private var held: [Line] = []
    /// The marks of this import, and those of the earlier one that the lines haven't reached.
    private var marks: [Mark] = []
    private var expected: ArraySlice<Mark>
    /// The number of marks that are kept, evenly spread, so that few lines are held at a time.
    private static let mostMarks = 64

    /// Begins with the first line.
    ///
    /// - Parameters:
    ///   - mapping: The mapping of this import.
    ///   - stored: What the interrupted import left; an unreadable value counts as missing.
    init(_ mapping: Mapping, after stored: [UInt8]?) {
        digest = Self.digest(of: mapping)
        expected = (stored.flatMap { try? JSONDecoder().decode([Mark].self, from: Data($0)) } ?? [])[...]
    }

    /// Takes the next line.
    ///
    /// - Returns: The lines to import now.
    mutating func pass(_ next: ImportLine) -> [Line] {
        number += 1
        // The lines' numbers don't count: blank lines change nothing.
        digest = Digest.sha256(digest + (next.bytes ?? []))
        let line = Line(number: number, input: next)
        guard let mark = expected.first else { return [line] }
        held.append(line)
        if number < mark.line { return [] }
        guard mark.line == number, mark.digest == shortDigest else { return release() }
        (resumedAfter, refused, held) = (number, mark.refused, [])
        marks.append(mark)
        expected.removeFirst()
        return []
    }

    /// Returns the lines that are still held at the end of the input, to be imported.
    mutating func release() -> [Line] {
        defer { (held, expected) = ([], []) }
        return held
    }

    /// Notes that all lines so far are imported.
    ///
    /// - Parameter refused: The rejections in them, by reason.
    /// - Returns: What to store.
    mutating func mark(refused: [String: Int]) -> [UInt8]? {
        marks.append(Mark(line: number, digest: shortDigest, refused: refused))
        if marks.count > Self.mostMarks { dropClosest() }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(marks)).map(Array.init)
    }

    /// Drops the mark without which the fewest lines have to be held; never the last one.
    private mutating func dropClosest() {
        let gap = { [marks] (index: Int) in marks[index + 1].line - (index == 0 ? 0 : marks[index - 1].line) }
        if let index = marks.indices.dropLast().min(by: { gap($0) < gap($1) }) { marks.remove(at: index) }
    }

    private var shortDigest: Data { Data(digest.prefix(16)) }

    /// Returns a digest of what decides whether a line is taken, and for which experiment.
    private static func digest(of mapping: Mapping) -> [UInt8] {
        let parts = mapping.experiments.map { mapped in
            Digest.hex([mapped.old.group, mapped.old.experiment] + mapped.variations.keys.sorted())
        }
        return Array(Digest.hex(parts).utf8)
    }
}
