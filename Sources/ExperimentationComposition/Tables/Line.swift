import Experimentation

/// One vendor's answer for a flag.
enum Said<Value> {
    /// A value.
    case value(Value)
    /// An error of the flag.
    case faulty(Value)
    /// No decisions yet.
    case notReady
    /// The vendor is disabled.
    case off
    /// The vendor doesn't have the flag for this user.
    case absent
}

extension DecisionTable.Fallback {
    /// Whether the next vendor is asked after a vendor's failure.
    ///
    /// A switch instead of `==`, which would compare raw strings.
    @inline(__always)
    var passesFailuresOver: Bool {
        switch self {
        case .firstMatch: false
        case .firstSuccessful: true
        }
    }

    /// Asks vendors in order until one answers.
    ///
    /// - Parameters:
    ///   - line: The vendors, in order.
    ///   - ask: Returns a vendor's answer.
    /// - Returns: The answer that counts; if all failed, the first failure.
    @inline(__always)
    func first<Line: Sequence, Value>(in line: Line, _ ask: (Line.Element) -> Said<Value>) -> Said<Value> {
        var failure: Said<Value>?
        for vendor in line {
            let said = ask(vendor)
            switch said {
            case .value: return said
            case .absent: continue
            case .faulty, .notReady, .off:
                if !passesFailuresOver { return said }
                if failure == nil { failure = said }
            }
        }
        return failure ?? .absent
    }
}

extension Resolution {
    /// The resolution of a flag whose vendor has no decisions yet.
    static let notReady = Resolution.unreadable(.providerNotReady, "The vendor that decides it has no decisions yet.")
    /// The resolution of a flag whose vendor is disabled.
    static let off = Resolution(.null, reason: .disabled)

    /// The resolution with the answering vendor in its metadata.
    func decided(by provider: String, isStale: Bool, assignmentsFrom start: Int) -> Resolution {
        var copy = self
        copy.metadata[Answerer.key] = .string(provider)
        copy.assignment = assignment.map { $0 + start }
        if isStale, error == nil { copy.reason = .stale }
        return copy
    }
}
