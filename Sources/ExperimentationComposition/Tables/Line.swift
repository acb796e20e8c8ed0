import Experimentation

/// What one vendor of a line says of a flag.
enum Said<Value> {
    /// A value.
    case value(Value)
    /// That something is wrong with the flag.
    case faulty(Value)
    /// Nothing, because it has no decisions yet.
    case notReady
    /// Nothing, because it has switched itself off.
    case off
    /// That it has no such flag for this user.
    case absent
}

extension DecisionTable.Fallback {
    /// Whether a failure of one vendor makes the next one's turn.
    ///
    /// A switch, because equality compares the names' texts.
    @inline(__always)
    var passesFailuresOver: Bool {
        switch self {
        case .firstMatch: false
        case .firstSuccessful: true
        }
    }

    /// Goes along a line until somebody answers.
    ///
    /// - Parameters:
    ///   - line: The vendors, the first to be asked first.
    ///   - ask: What a vendor says.
    /// - Returns: The answer that counts; of several failures the first.
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
    /// What a flag resolves to whose vendor has no decisions yet.
    static let notReady = Resolution.unreadable(.providerNotReady, "The vendor that decides it has no decisions yet.")
    /// What a flag resolves to whose vendor has switched itself off.
    static let off = Resolution(.null, reason: .disabled)

    /// The same with a note of who gave it.
    func decided(by provider: String, isStale: Bool, assignmentsFrom start: Int) -> Resolution {
        var copy = self
        copy.metadata[Answerer.key] = .string(provider)
        copy.assignment = assignment.map { $0 + start }
        if isStale, error == nil { copy.reason = .stale }
        return copy
    }
}
