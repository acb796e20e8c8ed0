import Experimentation

extension StepOutcome {
    /// What became of the step, in a few words.
    public var sentence: String {
        switch kind {
        case .unsupported: return "unsupported: \(note?.withoutFullStop ?? "the vendor has nothing like it")"
        case .broken: return "broken: \(note ?? "nothing is known")"
        case .failed, .done: break
        }
        var parts: [String] = []
        if let evaluation { parts.append(evaluation.sentence) }
        if let assignment { parts.append(assignment.sentence) }
        if kind == .failed { parts.append("failed: \(error ?? "ERROR")\(why.map { " (\($0))" } ?? "")") }
        parts += events.words
        if let note, kind == .done { parts.append(note) }
        return parts.isEmpty ? "done" : parts.joined(separator: ", ")
    }

    /// What the application was told of a failure.
    ///
    /// What a network library says of a connection differs from one of its versions to the next, and the code says as much.
    private var why: String? {
        let isNetwork = [ErrorCode.transport, .timeout].contains { $0.rawValue == error }
        return isNetwork ? nil : note?.withoutFullStop
    }

    /// What went over the wire, in a few words; empty if nothing did.
    public var wire: String { traffic.requests == 0 ? "" : traffic.sentence }
}

extension String {
    /// The text without the full stop at its end, to stand within a sentence.
    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension StepOutcome.Evaluation {
    /// The value and why it is that.
    var sentence: String {
        var text = "\(value) \(reason)"
        if let error { text += " \(error)" }
        if let variant { text += " (\(variant))" }
        return text
    }
}

extension StepOutcome.Place {
    /// The place in the experiment.
    var sentence: String { "\(variation)\(isControl ? " (control)" : "")" }
}

extension EventCount {
    /// What happened to events, in a few words.
    var words: [String] {
        var words: [String] = []
        if accepted > 0 { words.append("\(accepted) accepted") }
        if delivered > 0 { words.append("\(delivered) delivered") }
        if purged > 0 { words.append("\(purged) purged") }
        if dropped > 0 { words.append("\(dropped) dropped") }
        if pending > 0 { words.append("\(pending) pending") }
        return words
    }
}

extension Traffic {
    /// Requests and bytes, in a few words.
    public var sentence: String {
        "\(requests) req ↑\(Wording.bytes(bytesSent)) ↓\(Wording.bytes(bytesReceived))"
    }

    /// The share of requests that found a connection open, in per cent; `nil` without requests.
    public var reuse: Int? { requests > 0 ? (requests - min(connections, requests)) * 100 / requests : nil }
}

extension Latency {
    /// Median and worst, in a few words.
    public var sentence: String {
        p50 == p99 ? "\(Wording.milliseconds(p50)) ms" : "\(Wording.milliseconds(p50))/\(Wording.milliseconds(p99)) ms"
    }
}

/// How numbers are written for people, the same in every report and every country.
public enum Wording {
    /// A number of bytes: `812 B`, `1.4 kB`, `3.2 MB`.
    public static func bytes(_ count: Int) -> String {
        if count < 1000 { return "\(count) B" }
        if count < 1_000_000 { return tenths(count, 1000) + " kB" }
        return tenths(count, 1_000_000) + " MB"
    }

    /// Milliseconds with as many digits as mean something.
    public static func milliseconds(_ value: Double) -> String {
        guard value.isFinite, value >= 0, value < 1e9 else { return "–" }
        if value >= 100 { return String(Int(value.rounded())) }
        if value < 0.01 { return "0" }
        return value >= 10 ? tenths(Int((value * 10).rounded()), 10) : hundredths(value)
    }

    /// A count that may be impossible to tell.
    public static func figure(_ count: Int?) -> String { count.map(String.init) ?? "can't be told" }

    /// A share from 0 to 1 in per cent: `0 %`, `49.8 %`, `< 0.1 %`.
    public static func percent(_ share: Double) -> String {
        guard share.isFinite, share > 0 else { return "0 %" }
        let tenths = Int((min(share, 1) * 1000).rounded())
        if tenths == 0 { return "< 0.1 %" }
        // Not quite everybody must not read as everybody.
        if tenths == 1000 { return share < 1 ? "> 99.9 %" : "100 %" }
        return "\(tenths / 10)\(tenths % 10 == 0 ? "" : ".\(tenths % 10)") %"
    }

    /// A probability: `0.42`, `0.0004`, `< 1e-6`.
    public static func probability(_ p: Double) -> String {
        guard p.isFinite else { return "–" }
        if p < 1e-6 { return "< 1e-6" }
        if p < 0.001 {
            let millionths = Int((p * 1e6).rounded())
            let digits = String(millionths)
            return "0." + String(repeating: "0", count: 6 - digits.count) + digits
        }
        let thousandths = min(1000, Int((p * 1000).rounded()))
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    /// A count with its thousands apart: `1,000,000`.
    public static func count(_ count: Int) -> String {
        var digits = Array(String(count.magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (count < 0 ? "-" : "") + String(digits)
    }

    private static func tenths(_ count: Int, _ unit: Int) -> String {
        let tenths = (count * 10 + unit / 2) / unit
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func hundredths(_ value: Double) -> String {
        let count = Int((value * 100).rounded())
        let rest = count % 100
        return "\(count / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
