import Experimentation

extension ConformanceSubject {
    /// Why the wire doesn't tell a field of an event; `nil` if nobody says why.
    ///
    /// A field that belongs to a capability that isn't declared needs no reason of its own.
    ///
    /// - Parameter field: A field that isn't among ``wireFields``.
    /// - Returns: The reason, for a person.
    public func reason(forUntold field: Received.Field) -> String? {
        if let reason = wireReasons[field] { return reason }
        guard let capability = field.capability, !capabilities.contains(capability) else { return nil }
        return reasons[capability] ?? "\(name) doesn't declare \"\(capability)\""
    }

    /// The first gap of a stage in what is declared, in words.
    func contradiction(among gaps: [WorldGap], in world: World) -> String? {
        for gap in gaps {
            guard let capability = gap.denied(in: world), capabilities.contains(capability) else { continue }
            return "\(name) declares \"\(capability)\" and has a gap there: \(gap)"
        }
        return nil
    }
}

extension Received.Field {
    /// The capability that the field belongs to; `nil` if it belongs to every event.
    var capability: Capability? {
        switch self {
        case .eventID: .eventIDs
        case .experiment: .exposures
        case .orderID, .items: .commerce
        case .userID, .anonymousID, .name, .value, .attributes, .date: nil
        }
    }
}

extension SubjectStage {
    /// Adds faults to the script.
    ///
    /// - Throws: ``CaseDoesNotApply`` when the stage can't play one that not every vendor has: a failure with status
    ///   200, a request for credentials. Everything else each vendor can suffer, and each stage can play.
    func play(_ faults: [WorldFault]) async throws {
        guard !faults.isEmpty else { return }
        do { try await inject(faults) } catch SubjectError.unsupported(let reason)
            where faults.contains(where: \.isPeculiar)
        {
            throw CaseDoesNotApply(reason)
        }
    }
}

extension WorldFault {
    /// Whether it is one that not every vendor's wire has.
    fileprivate var isPeculiar: Bool { kind == .vendorFailure200 || operation == .authentication }
}
