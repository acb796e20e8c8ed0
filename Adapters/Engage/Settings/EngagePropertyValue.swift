import Foundation
import Synchronization

/// A value of a property list.
enum PropertyValue: Decodable {
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([PropertyValue])
    case group([String: PropertyValue])

    /// The maximum number of dictionaries and lists in a file: the reference's has ten.
    private static let mostContainers = 256
    /// The maximum number of values read: in the binary format a few bytes can encode billions of them.
    private static let mostValues = 10_000
    /// Groups are in the list, settings in groups, strings in settings.
    private static let deepest = 3

    /// Reading a file stops: it is too large.
    private struct TooLarge: Error {}

    /// The number of values that may still be read.
    private final class Budget: Sendable {
        static let key = CodingUserInfoKey(rawValue: "budget")
        private let left = Mutex(PropertyValue.mostValues)

        func take() throws {
            try left.withLock { left in
                guard left > 0 else { throw TooLarge() }
                left -= 1
            }
        }
    }

    /// Reads a file.
    init(reading bytes: [UInt8]) throws {
        guard !Self.hasTooManyContainers(bytes) else { throw TooLarge() }
        let decoder = PropertyListDecoder()
        if let key = Budget.key { decoder.userInfo[key] = Budget() }
        self = try decoder.decode(PropertyValue.self, from: Data(bytes))
    }

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

    init(from decoder: any Decoder) throws {
        if let key = Budget.key { try (decoder.userInfo[key] as? Budget)?.take() }
        // Nothing needed is nested deeper, and a list may contain itself.
        guard decoder.codingPath.count <= Self.deepest else {
            self = .group([:])
            return
        }
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let list = try? value.decode([PropertyValue].self) {
            self = .list(list)
        } else {
            self = .group(try value.decode([String: PropertyValue].self))
        }
    }

    var text: String? {
        switch self {
        case .text(let text): text
        case .number(let number): Int(exactly: number).map(String.init) ?? String(number)
        default: nil
        }
    }

    /// A finite number, which may be written as a text.
    var number: Double? { text.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil } }
}
