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
    /// The median, and what ninety-nine of a hundred stay below if that can be told, in a few words.
    public var sentence: String {
        let tail = p99.flatMap { $0 == p50 ? nil : "/\(Wording.milliseconds($0))" } ?? ""
        return "\(Wording.milliseconds(p50))\(tail) ms"
    }
}

extension Timing {
    /// How times were measured, in a sentence.
    public var sentence: String {
        let trip =
            roundTripMilliseconds > 0
            ? "\(Wording.milliseconds(roundTripMilliseconds)) ms for each request and for opening each connection, no TLS"
            : "no network in between"
        return
            "Times: the median of \(rounds) rounds\(rounds >= Latency.fewestForTail ? ", and the 99th percentile" : ""); "
            + "round trip: \(trip)."
    }
}
