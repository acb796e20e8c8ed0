import Foundation

/// What one evaluation is told beside its user.
public struct EvaluationOptions: Sendable {
    /// Hooks of this evaluation alone; they come after the client's.
    public var hooks: [any Hook]
    /// What hooks are to know.
    public var hints: [String: FlagValue]

    /// Creates options.
    public init(hooks: [any Hook] = [], hints: [String: FlagValue] = [:]) {
        self.hooks = hooks
        self.hints = hints
    }
}

/// Evaluating for a user without a session, as a server does: nothing of the user is kept but, in a bounded memory, what was
/// decided for them and what they have been exposed to.
///
/// ``decisions(for:honoring:)`` works with every vendor that decides, and what it returns answers for itself. The
/// synchronous reads here look at what is at hand: for a vendor that publishes rules, ``refresh(force:)`` must have fetched
/// them once; for one that is asked, ``decisions(for:honoring:)`` must have been called for the user, and its answer must
/// still fit into ``ClientOptions/decisionCacheBytes``. What isn't there is the default, with
/// ``ErrorCode/providerNotReady``; what is old says ``Reason/stale`` with its age, as a session does.
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
    /// The object or list that a flag has as its value for a user, or the default.
    public func object(_ key: String, default defaultValue: FlagValue, for user: User) -> FlagValue {
        value(key, defaultValue, user)
    }

    /// The Boolean value of a flag for a user, and why it is that.
    public func details(
        _ key: String,
        default defaultValue: Bool,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Bool> { evaluate(key, defaultValue, user, options) }
    /// The whole-number value of a flag for a user, and why it is that.
    public func details(
        _ key: String,
        default defaultValue: Int,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Int> { evaluate(key, defaultValue, user, options) }
    /// The numeric value of a flag for a user, and why it is that.
    public func details(
        _ key: String,
        default defaultValue: Double,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Double> { evaluate(key, defaultValue, user, options) }
    /// The text value of a flag for a user, and why it is that.
    public func details(
        _ key: String,
        default defaultValue: String,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<String> { evaluate(key, defaultValue, user, options) }
    /// The object or list that a flag has as its value for a user, and why it is that.
    public func details(
        _ key: String,
        default defaultValue: FlagValue,
        for user: User,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<FlagValue> { evaluate(key, defaultValue, user, options) }

    /// Decides everything for a user, asking the vendor if it must be asked.
    ///
    /// What is returned is read by itself, whatever this client remembers. The synchronous reads for this user find it as
    /// well, for as long as it fits into ``ClientOptions/decisionCacheBytes``.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: What another place remembers, to be honoured where the vendor promises that.
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

    /// What was last decided for a user, or what the rules at hand decide, however old; the vendor isn't asked.
    ///
    /// For when ``decisions(for:honoring:)`` throws because the vendor can't be reached. What is read of it says
    /// ``Reason/stale``.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: What another place remembers, to be honoured where the vendor promises that.
    /// - Returns: The decisions; `nil` where nothing is at hand, and while the kill switch is on.
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
        let published = rules.published.read { $0 }
        guard let ruleset = published.ruleset else { return nil }
        return HeldDecisions(
            decisions: ruleset.decisions(for: context),
            instant: published.kept?.instant ?? core.environment.time.instant,
            expiry: nil,
            afterExpiry: .stale
        )
    }

    private func held(for context: EvaluationContext) async throws(ExperimentationError) -> HeldDecisions {
        switch core.roles.decisions {
        case nil: throw core.noDecisions
        case .computed(let source):
            let rules = try await core.rules?.current(force: false)
            let decisions = core.isDisabled ? .none : rules?.ruleset.decisions(for: context) ?? .none
            return core.hold(decisions, madeAt: rules?.instant, by: source.freshness)
        case .asked(let source):
            let answer: DecisionAnswer
            do throws(ExperimentationError) {
                answer = try await core.ask(source, for: context)
            } catch {
                core.cache.markStale(context.user.id)
                core.fetchFailed(error, hasDecisions: core.cache.decisions(for: context.user) != nil)
                throw error
            }
            guard case .decided(let decisions) = answer else {
                await core.killSwitch.set(true)
                return core.hold(.none, by: source.freshness)
            }
            await core.killSwitch.set(false)
            core.status.announce(.ready, .ready)
            let held = core.hold(decisions, by: source.freshness)
            core.cache.keep(held, for: context.user)
            return held
        }
    }

    // MARK: How

    /// What a quick read found out under the lane's lock.
    private enum Quick<Value: Sendable>: Sendable {
        case value(Value)
        case unclear
    }

    /// Reads one flag from rules at hand; whatever is more than that goes the long way.
    @inline(__always)
    private func value<Value: FlagReadable>(_ key: String, _ defaultValue: Value, _ user: User) -> Value {
        guard let rules = core.rules, !core.isDetoured, !core.isDisabled else {
            return evaluate(key, defaultValue, user, nil).value
        }
        let context = core.context(for: user)
        let quick = rules.published.read { rules -> Quick<Value> in
            guard let ruleset = rules.ruleset else { return .unclear }
            let flag = rules.catalogue.find(key)
            guard flag >= 0, let choice = ruleset.outcome(ofFlag: flag, for: context), choice >= 0,
                choice < rules.catalogue.outcomeCount(ofFlag: flag)
            else { return .unclear }
            let outcome = rules.catalogue.outcome(flag, choice)
            guard outcome.pointee.place < 0, let value = Value.read(outcome) else { return .unclear }
            return .value(value)
        }
        guard case .value(let value) = quick else { return evaluate(key, defaultValue, user, nil).value }
        return value
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
