import Experimentation

extension ConformanceSubject {
    /// Why the wire doesn't carry a field of an event; `nil` if no reason is given.
    ///
    /// A field of an undeclared capability needs no reason of its own.
    ///
    /// - Parameter field: A field that isn't among ``wireFields``.
    /// - Returns: The reason.
    public func reason(forUntold field: Received.Field) -> String? {
        if let reason = wireReasons[field] { return reason }
        guard let capability = field.capability, !capabilities.contains(capability) else { return nil }
        return reasons[capability] ?? "\(name) doesn't declare \"\(capability)\""
    }

    /// Describes the first gap that contradicts a declared capability; `nil` if there is none.
    ///
    /// Only gaps that cover a need count: a vendor that lacks other parts of the world can still do what is asked for.
    func contradiction(among gaps: [WorldGap], in world: World, for needs: [String]) -> String? {
        for gap in gaps where needs.contains(where: gap.covers) {
            guard let capability = gap.denied(in: world), capabilities.contains(capability) else { continue }
            return "\(name) declares \"\(capability)\" and has a gap there: \(gap)"
        }
        return nil
    }
}

extension Received.Field {
    /// The capability that the field belongs to; `nil` if every event has it.
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
    /// - Throws: ``CaseDoesNotApply`` for a fault that the subject says can't occur, and when the stage can't inject a
    ///   fault that not every vendor has: a failure with status 200, a request for credentials. Every stage must be
    ///   able to inject all others.
    func play(_ faults: [WorldFault], of subject: any ConformanceSubject) async throws {
        guard !faults.isEmpty else { return }
        if let reason = faults.lazy.compactMap(subject.reason(forImpossible:)).first { throw CaseDoesNotApply(reason) }
        do { try await inject(faults) } catch SubjectError.unsupported(let reason)
            where faults.contains(where: \.isPeculiar)
        {
            throw CaseDoesNotApply(reason)
        }
    }
}

extension WorldFault {
    /// Whether it is a fault that not every vendor's wire has.
    fileprivate var isPeculiar: Bool { kind == .vendorFailure200 || operation == .authentication }
}
