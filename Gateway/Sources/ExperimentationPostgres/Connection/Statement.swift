import Foundation

/// A statement with its parameters; values from outside are never part of the SQL text.
struct Statement: Sendable {
    let text: String
    let values: [Parameter]

    init(_ text: String, _ values: Parameter...) {
        self.text = text
        self.values = values
    }
}

/// A parameter in PostgreSQL's binary format.
///
/// Text from outside is sent as bytes, because PostgreSQL's text can't contain U+0000 and is compared by a collation.
enum Parameter: Sendable {
    case whole(Int64)
    case real(Double?)
    case flag(Bool)
    case bytes([UInt8]?)
    case text(String)
    case wholes([Int64])
    case reals([Double])
    case flags([Bool])
    case blobs([[UInt8]?])

    /// The type's OID.
    var type: UInt32 {
        switch self {
        case .whole: 20
        case .real: 701
        case .flag: 16
        case .bytes: 17
        case .text: 25
        case .wholes: 1_016
        case .reals: 1_022
        case .flags: 1_000
        case .blobs: 1_001
        }
    }

    /// The encoded value; `nil` for NULL.
    var wire: [UInt8]? {
        switch self {
        case .whole(let number): Self.bigEndian(number)
        case .real(let number): number.map { Self.bigEndian($0.bitPattern) }
        case .flag(let flag): [flag ? 1 : 0]
        case .bytes(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .wholes(let numbers): Self.array(of: 20, numbers.map(Self.bigEndian))
        case .reals(let numbers): Self.array(of: 701, numbers.map { Self.bigEndian($0.bitPattern) })
        case .flags(let flags): Self.array(of: 16, flags.map { [$0 ? 1 : 0] })
        case .blobs(let blobs): Self.array(of: 17, blobs)
        }
    }

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Encodes a one-dimensional array whose index starts at 1.
    private static func array(of type: UInt32, _ elements: [[UInt8]?]) -> [UInt8] {
        var bytes = bigEndian(Int32(elements.isEmpty ? 0 : 1))
        bytes += bigEndian(Int32(elements.contains { $0 == nil } ? 1 : 0)) + bigEndian(type)
        if elements.isEmpty { return bytes }
        bytes += bigEndian(Int32(elements.count)) + bigEndian(Int32(1))
        for element in elements {
            bytes += bigEndian(Int32(element?.count ?? -1))
            if let element { bytes += element }
        }
        return bytes
    }
}

extension Parameter {
    /// A date in seconds since 2001, as `Date` stores it, so that no precision is lost.
    static func date(_ date: Date) -> Parameter { .real(date.timeIntervalSinceReferenceDate) }
    /// Text from outside, as bytes.
    static func outside(_ text: String) -> Parameter { .bytes(Array(text.utf8)) }
}

/// A row of a result.
struct Row: Sendable {
    let cells: [[UInt8]?]

    func isNull(_ column: Int) -> Bool { cells[column] == nil }

    /// An integer of any width; 0 for NULL.
    func whole(_ column: Int) -> Int64 {
        guard let bytes = cells[column] else { return 0 }
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        switch bytes.count {
        case 2: return Int64(Int16(truncatingIfNeeded: bits))
        case 4: return Int64(Int32(truncatingIfNeeded: bits))
        default: return Int64(bitPattern: bits)
        }
    }

    func real(_ column: Int) -> Double { Double(bitPattern: UInt64(bitPattern: whole(column))) }
    func date(_ column: Int) -> Date { Date(timeIntervalSinceReferenceDate: real(column)) }
    func flag(_ column: Int) -> Bool { cells[column]?.first == 1 }
    func bytes(_ column: Int) -> [UInt8] { cells[column] ?? [] }
    func outside(_ column: Int) -> String? { cells[column].map { String(decoding: $0, as: UTF8.self) } }
}
