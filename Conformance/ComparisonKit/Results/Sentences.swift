import Experimentation

extension StepOutcome {
    /// The outcome as a phrase.
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
        let text = parts.isEmpty ? "done" : parts.joined(separator: ", ")
        return parties.map { "\(text) (\($0))" } ?? text
    }

    /// Which of several vendors took part; `nil` for a single one, and where none did.
    var parties: String? {
        guard let by, !by.isEmpty else { return nil }
        return "by \(by.joined(separator: ", "))"
    }

    /// The failure as reported to the application.
    ///
    /// The wording of network libraries changes between versions, so the code is used instead.
    private var why: String? {
        let isNetwork = [ErrorCode.transport, .timeout].contains { $0.rawValue == error }
        return isNetwork ? nil : note?.withoutFullStop
    }

    /// The traffic as a phrase; empty if there was none.
    public var wire: String { traffic.requests == 0 ? "" : traffic.sentence }
}

extension String {
    /// The text without a final full stop, for use within a sentence.
    var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }
}

extension StepOutcome.Evaluation {
    /// The value and its reason.
    var sentence: String {
        var text = "\(value) \(reason)"
        if let error { text += " \(error)" }
        if let variant { text += " (\(variant))" }
        return text
    }
}

extension StepOutcome.Place {
    /// The variation, marked if it is the control.
    var sentence: String { "\(variation)\(isControl ? " (control)" : "")" }
}

extension EventCount {
    /// What happened to events, as phrases.
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
    /// Requests and bytes as a phrase.
    public var sentence: String {
        "\(requests) req ↑\(Wording.bytes(bytesSent)) ↓\(Wording.bytes(bytesReceived))"
    }

    /// The percentage of requests on a reused connection; `nil` without requests.
    public var reuse: Int? { requests > 0 ? (requests - min(connections, requests)) * 100 / requests : nil }
}

extension Latency {
    /// Median and 99th percentile as a phrase.
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
