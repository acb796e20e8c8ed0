import Foundation
import HTTPTypes

/// How long a server asks its clients to wait.
public enum RetryAfter {
    /// The longest wait that is honored; a server that asks for more is tried again after this.
    public static let longest = Duration.seconds(300)

    /// Reads the `Retry-After` field of a response.
    ///
    /// - Parameters:
    ///   - fields: The response's header fields. Of several `Retry-After` fields the longest counts.
    ///   - now: The time of day, for the form with a date.
    /// - Returns: The wait, from zero to ``longest``; `nil` if the server asks for none, or asks in a form that HTTP
    ///   doesn't define.
    public static func wait(in fields: HTTPFields, now: Date) -> Duration? {
        fields[values: .retryAfter].compactMap { parse($0, now: now) }.max()
    }

    /// Parses one value: a number of seconds, or a date.
    ///
    /// - Returns: The wait, from zero to ``longest``; `nil` for anything else, including a negative number.
    public static func parse(_ value: String, now: Date) -> Duration? {
        var text = value[...]
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if let seconds = seconds(text) { return min(seconds, longest) }
        guard let date = HTTPDate.parse(String(text)) else { return nil }
        let distance = date.timeIntervalSince(now)
        guard distance > 0 else { return .zero }
        return distance < 300 ? .milliseconds(Int64((distance * 1000).rounded(.up))) : longest
    }

    /// Parses whole seconds, as HTTP defines them, or a fraction, as some servers send.
    private static func seconds(_ text: Substring) -> Duration? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard areDigits, let whole = parts.first else { return nil }
        let significant = whole.drop { $0 == "0" }
        guard significant.utf8.count <= 4 else { return longest }
        let thousandths = parts.count > 1 ? Int((parts[1] + "000").prefix(3)) ?? 0 : 0
        return .seconds(Int(significant) ?? 0) + .milliseconds(thousandths)
    }
}

extension HTTPReply {
    /// How long the server asks to wait, by the `Retry-After` field; see ``RetryAfter/wait(in:now:)``.
    public func retryAfter(at now: Date) -> Duration? { RetryAfter.wait(in: response.headerFields, now: now) }
}
