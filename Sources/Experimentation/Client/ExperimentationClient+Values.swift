import Foundation

/// Evaluation for a user without a session, as on a server: apart from a bounded memory of decisions and exposures, the
/// client keeps nothing about the user.
///
/// ``decisions(for:honoring:)`` works with every vendor that decides, and what it returns is complete in itself. The
/// synchronous reads here use what the client already has. For a vendor that publishes rules, ``refresh(force:)`` must
/// have fetched them once. For a vendor that is asked for each user, ``decisions(for:honoring:)`` must have been called
/// for the user, and its answer must still be cached, within ``ClientOptions/decisionCacheBytes``. A flag that isn't
/// there reads as the default, with ``ErrorCode/providerNotReady``; an expired flag has reason ``Reason/stale`` and its
/// age, or reads as the default if ``Freshness/afterExpiry`` says so, as in a session.
extension ExperimentationClient {
    /// The Boolean value of a flag for a user, or the default.
    public func bool(_ key: String, default defaultValue: Bool, for user: User) -> Bool {
        value(key, defaultValue, user)
    }
    /// The whole-number value of a flag for a user, or the default.
    public func int(_ key: String, default defaultValue: Int, for user: User) -> Int {
        value(key, defaultValue, user)
    }
    /// The numeric value of a flag for a user, or the default.
    public func double(_ key: String, default defaultValue: Double, for user: User) -> Double {
        value(key, defaultValue, user)
    }
    /// The text value of a flag for a user, or the default.
    public func string(_ key: String, default defaultValue: String, for user: User) -> String {
        value(key, defaultValue, user)
    }
    /// The object or list value of a flag for a user, or the default.
    public func object(_ key: String, default defaultValue: FlagValue, for user: User) -> FlagValue {
        value(key, defaultValue, user)
    }

    /// The Boolean value of a flag for a user, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Bool,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Bool> { evaluate(key, defaultValue, user, options) }
    /// The whole-number value of a flag for a user, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Int,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Int> { evaluate(key, defaultValue, user, options) }
    /// The numeric value of a flag for a user, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Double,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Double> { evaluate(key, defaultValue, user, options) }
    /// The text value of a flag for a user, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: String,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<String> { evaluate(key, defaultValue, user, options) }
    /// The object or list value of a flag for a user, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: FlagValue,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<FlagValue> { evaluate(key, defaultValue, user, options) }

    /// Decides all flags for a user, asking the vendor if necessary.
    ///
    /// A vendor that decides for each user is asked each time, unless ``ClientOptions/answerReuse`` says otherwise.
    ///
    /// The result is complete in itself, whatever this client caches. The synchronous reads for this user use it as
    /// well, as long as it stays cached, within ``ClientOptions/decisionCacheBytes``.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: Assignments stored elsewhere, to be honored where the vendor promises that.
    /// - Returns: The decisions; none while the kill switch is on.
    /// - Throws: Why there are no decisions.
    public func decisions(
        for user: User,
        honoring earlierAssignments: EarlierAssignments = [:]
    ) async throws(ExperimentationError) -> UserDecisions {
        let context = core.context(for: user, earlierAssignments: earlierAssignments.variations)
        try context.user.validate()
        return UserDecisions(core: core, context: context, held: try await held(for: context))
    }

    /// Returns the last decisions for a user, or those of the rules that the client has, however old, without asking
    /// the vendor.
    ///
    /// Use it when ``decisions(for:honoring:)`` throws because the vendor can't be reached. Its reads have reason
    /// ``Reason/stale``.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: Assignments stored elsewhere, to be honored where the vendor promises that.
    /// - Returns: The decisions; `nil` if the client has none, and while the kill switch is on.
    public func decisionsAtHand(
        for user: User,
        honoring earlierAssignments: EarlierAssignments = [:]
    ) -> UserDecisions? {
        let context = core.context(for: user, earlierAssignments: earlierAssignments.variations)
        guard !core.isDisabled, (try? context.user.validate()) != nil else { return nil }
        guard var held = heldAtHand(for: context) else { return nil }
        held.isStale = true
        return UserDecisions(core: core, context: context, held: held)
    }

    private func heldAtHand(for context: EvaluationContext) -> HeldDecisions? {
        guard let rules = core.rules else { return core.cache.decisions(for: context.user) }
        guard let kept = rules.published.read({ $0.kept }) else { return nil }
        return HeldDecisions(
            decisions: kept.ruleset.decisions(for: context),
            instant: kept.instant,
            expiry: nil,
            afterExpiry: .stale,
            validator: kept.validator
        )
    }

    private func held(for context: EvaluationContext) async throws(ExperimentationError) -> HeldDecisions {
        switch core.roles.decisions {
        case nil: throw core.noDecisions
        case .computed(let source):
            let rules = try await core.rules?.current(force: false)
            let kept = core.isDisabled ? nil : rules?.kept
            let decisions = kept?.ruleset.decisions(for: context) ?? .none
            var held = core.hold(decisions, madeAt: kept?.instant, by: source.freshness)
            held.isStale = rules?.isStale ?? false
            held.validator = kept?.validator
            return held
        case .asked(let source): return try await core.decided(by: source, for: context)
        }
    }

    // MARK: Implementation

    /// Reads one flag by the published rules; anything more takes the long path.
    @inline(__always)
    private func value<Value: FlagReadable>(_ key: String, _ defaultValue: Value, _ user: User) -> Value {
        guard let rules = core.rules, !core.isDetoured, !core.isDisabled, !user.hasNoID else {
            return evaluate(key, defaultValue, user, nil).value
        }
        let context = core.context(for: user)
        let quick = rules.published.read { rules -> QuickReading<Value> in
            guard let ruleset = rules.reader, !rules.isOverdue else { return .unclear }
            let flag = rules.catalogue.find(key)
            guard flag >= 0, let choice = ruleset.outcome(ofFlag: flag, for: context), choice >= 0,
                choice < rules.catalogue.outcomeCount(ofFlag: flag)
            else { return .unclear }
            let outcome = rules.catalogue.outcome(flag, choice)
            guard let value = Value.read(outcome) else { return .unclear }
            let place = outcome.pointee.place
            return place < 0 ? .value(value) : .revealing(value, place: place, of: rules.catalogue)
        }
        switch quick {
        case .value(let value): return value
        case .revealing(let value, let place, let catalogue):
            core.recordExposure(
                of: catalogue.assignments[Int(place)],
                key: key,
                value: value.flagValue,
                default: defaultValue.flagValue,
                context.user
            )
            return value
        case .unclear: return evaluate(key, defaultValue, user, nil).value
        }
    }

    @inline(__always)
    private func evaluate<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ user: User,
        _ options: EvaluationOptions?
    ) -> EvaluationDetails<Value> {
        core.evaluate(key, defaultValue, core.context(for: user), options) { [core] context in
            core.read(key, defaultValue, context)
        }
    }
}
