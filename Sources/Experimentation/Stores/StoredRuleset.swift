import Foundation

/// A ruleset in its written form: a short head, and the vendor's own bytes.
struct StoredRuleset: Codable, Sendable {
    var validator: String?
    var date: Date
    var raw: [UInt8]

    /// The bytes to store: the header's length, the header, the vendor's bytes.
    var written: [UInt8] {
        let head = Array("\(date.timeIntervalSince1970)\n\(validator ?? "")".utf8)
        let length = UInt32(truncatingIfNeeded: head.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (UInt32($0) * 8)) } + head + raw
    }

    init(validator: String?, date: Date, raw: [UInt8]) {
        self.validator = validator
        self.date = date
        self.raw = raw
    }

    /// Parses what ``written`` returned.
    init?(written: [UInt8]) {
        guard written.count >= 4 else { return nil }
        let length = Int(written[0]) | Int(written[1]) << 8 | Int(written[2]) << 16 | Int(written[3]) << 24
        guard length <= written.count - 4 else { return nil }
        let head = String(decoding: written[4..<(4 + length)], as: UTF8.self)
        let parts = head.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Double(parts[0]) else { return nil }
        date = Date(timeIntervalSince1970: seconds)
        validator = parts[1].isEmpty ? nil : String(parts[1])
        raw = Array(written[(4 + length)...])
    }
}
