import Experimentation
import Foundation
import Synchronization

/// Property lists from outside, read within limits: the platform's decoder has none.
package enum PropertyList {
    /// The maximum number of dictionaries and lists in a file.
    private static let mostContainers = 256
    /// The maximum number of values read: in the binary format a few bytes can encode billions of them.
    private static let mostValues = 10_000

    /// Reads a property list in any of the formats.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - deepest: The maximum depth of lists and dictionaries around a value. What is nested deeper is read as an
    ///     empty object, since a list may contain itself.
    /// - Returns: The value; dictionaries are objects.
    /// - Throws: `ErrorCode.parseError` for a file that isn't a property list, is too large, or holds dates or data.
    package static func parse(_ bytes: [UInt8], deepest: Int) throws(ExperimentationError) -> FlagValue {
        guard !hasTooManyContainers(bytes) else { throw refusal }
        let decoder = PropertyListDecoder()
        if let key = Budget.key { decoder.userInfo[key] = Budget(deepest: deepest) }
        do { return try decoder.decode(Node.self, from: Data(bytes)).value } catch { throw refusal }
    }

    private static let refusal = ExperimentationError(.parseError, "not a property list that can be read")

    /// Whether a file opens more dictionaries and lists in XML than any real file has.
    ///
    /// Counted before parsing, because the parser recurses at each of them; a thousand end a process with a small
    /// stack. The other formats are read level by level, or have a limit of their own.
    private static func hasTooManyContainers(_ bytes: [UInt8]) -> Bool {
        var count = 0
        var isOpen = false
        // Zero bytes are halves of UTF-16 code units.
        for byte in bytes where byte != 0 {
            if isOpen, byte == UInt8(ascii: "d") || byte == UInt8(ascii: "a") { count += 1 }
            isOpen = byte == UInt8(ascii: "<")
        }
        return count > mostContainers
    }

    /// How much may still be read.
    private final class Budget: Sendable {
        static let key = CodingUserInfoKey(rawValue: "budget")
        let deepest: Int
        private let left = Mutex(PropertyList.mostValues)

        init(deepest: Int) { self.deepest = deepest }

        func take() throws {
            try left.withLock { left in
                guard left > 0 else { throw PropertyList.refusal }
                left -= 1
            }
        }
    }

    /// A value, which counts against the budget.
    private struct Node: Decodable {
        let value: FlagValue

        init(from decoder: any Decoder) throws {
            let budget = Budget.key.flatMap { decoder.userInfo[$0] as? Budget }
            try budget?.take()
            guard decoder.codingPath.count <= budget?.deepest ?? 0 else {
                value = .object([:])
                return
            }
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                value = .string(text)
            } else if let flag = try? container.decode(Bool.self) {
                value = .bool(flag)
            } else if let number = try? container.decode(Int.self) {
                value = .int(number)
            } else if let number = try? container.decode(Double.self) {
                value = .double(number)
            } else if let list = try? container.decode([Node].self) {
                value = .array(list.map(\.value))
            } else {
                value = .object(try container.decode([String: Node].self).mapValues(\.value))
            }
        }
    }
}
