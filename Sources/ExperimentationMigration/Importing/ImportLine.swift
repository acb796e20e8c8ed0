/// A line of an import.
package struct ImportLine: Sendable, Equatable {
    /// The line's number in the input, from 1, for messages; blank lines count, though they aren't imported.
    package var number: Int
    /// The bytes without the line break; `nil` if the line is too long to be read.
    package var bytes: [UInt8]?

    /// Creates a line.
    package init(number: Int, bytes: [UInt8]?) { (self.number, self.bytes) = (number, bytes) }
}

extension AssignmentReader {
    /// Reads one line, unless it is too long.
    package mutating func read(_ line: ImportLine) throws(ImportFault) -> [ImportedAssignments] {
        guard let bytes = line.bytes else { throw ImportFault("is too long") }
        return try read(bytes)
    }
}
