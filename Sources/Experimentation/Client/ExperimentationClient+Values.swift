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

/// Evaluating for a user without a session, as a server does: nothing of the user is kept but, in a bounded memory, what has been
/// exposed to them.
///
/// For a vendor that publishes rules, ``refresh(force:)`` must have fetched them once; for one that is asked,
/// ``decisions(for:)`` must have been called for the user. What isn't there is the default, with
/// ``ErrorCode/providerNotReady``.
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

    /// Decides everything for a user, asking the vendor if it must be asked; what it says is kept for the synchronous reads.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - earlierAssignments: Variation ids by variation group, to be honoured where the vendor promises that.
    /// - Returns: The decisions; none while the kill switch is on.
    /// - Throws: Why there are no decisions.
    public func decisions(
        for user: User,
        honoring earlierAssignments: [String: String] = [:]
    ) async throws(ExperimentationError) -> Decisions {
        let context = core.context(for: user, earlierAssignments: earlierAssignments)
        try context.user.validate()
        switch core.roles.decisions {
        case nil: throw core.noDecisions
        case .computed:
            let rules = try await core.rules?.current(force: false)
            return core.isDisabled ? .none : rules?.ruleset.decisions(for: context) ?? .none
        case .asked(let source):
            let answer: DecisionAnswer
            do throws(ExperimentationError) {
                answer = try await core.ask(source, for: context)
            } catch {
                core.fetchFailed(error, hasDecisions: core.cache.decisions(for: context.user) != nil)
                throw error
            }
            guard case .decided(let decisions) = answer else {
                await core.killSwitch.set(true)
                return .none
            }
            await core.killSwitch.set(false)
            core.status.announce(.ready, .ready)
            core.cache.keep(decisions, for: context.user)
            return decisions
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
        guard let rules = core.rules, core.hooks.isEmpty, !core.isDisabled else {
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
        let context = core.context(for: user)
        let reading: StatelessReading<Value>
        if core.hooks.isEmpty, options == nil {
            reading = core.read(key, defaultValue, context)
        } else {
            reading = evaluateWithHooks(key, defaultValue, context, options ?? EvaluationOptions())
        }
        if let assignment = reading.assignment {
            core.recordExposure(assignment, key, reading.reading, defaultValue, context.user)
        }
        return reading.reading.details
    }

    @inline(never)
    private func evaluateWithHooks<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext,
        _ options: EvaluationOptions
    ) -> StatelessReading<Value> {
        let hookContext = HookContext(
            flagKey: key,
            type: Value.valueType,
            defaultValue: defaultValue.flagValue,
            scope: core.hookScope,
            hints: options.hints,
            box: ContextBox(context)
        )
        var assignment: Assignment?
        let reading = HookRun.around(core.hooks.all + options.hooks, hookContext, default: defaultValue) { context in
            let read: StatelessReading<Value> = core.read(key, defaultValue, context.evaluationContext)
            assignment = read.assignment
            return read.reading
        }
        return StatelessReading(reading: reading, assignment: reading.details.errorCode == nil ? assignment : nil)
    }
}

/// A reading without a session, with the place in an experiment that it reveals.
struct StatelessReading<Value: Sendable>: Sendable {
    var reading: FlagReading<Value>
    var assignment: Assignment?
}

extension ClientCore {
    /// Reads one flag for a user.
    func read<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext
    ) -> StatelessReading<Value> {
        if isDisabled { return StatelessReading(reading: FlagReader.disabled(key, defaultValue)) }
        if context.user.id.isEmpty, context.user.anonymousID?.isEmpty ?? true {
            return failure(key, defaultValue, .targetingKeyMissing, "The user has no id.")
        }
        switch roles.decisions {
        case .computed:
            guard let rules else { return failure(key, defaultValue, .providerNotReady, "There are no rules yet.") }
            return rules.published.read { rules in
                guard let ruleset = rules.ruleset else {
                    return status.status == .fatal
                        ? failure(key, defaultValue, .providerFatal, "The provider has failed for good.")
                        : failure(key, defaultValue, .providerNotReady, "There are no rules yet.")
                }
                let flag = rules.catalogue.find(key)
                let chosen = flag < 0 ? nil : ruleset.outcome(ofFlag: flag, for: context)
                // A ruleset comes from an adapter, perhaps a stranger's: its index is checked before memory is read by it.
                let outcome = chosen.flatMap { choice in
                    choice >= 0 && choice < rules.catalogue.outcomeCount(ofFlag: flag)
                        ? rules.catalogue.outcome(flag, choice) : nil
                }
                return result(
                    FlagReader.details(
                        key,
                        default: defaultValue,
                        outcome: outcome,
                        reason: rules.isRestored ? .cached : nil
                    ),
                    rules.catalogue
                )
            }
        case .asked:
            guard let decisions = cache.decisions(for: context.user) else {
                return failure(key, defaultValue, .providerNotReady, "There are no decisions for this user yet.")
            }
            return result(
                FlagReader.details(key, default: defaultValue, outcome: decisions.chosen(key)),
                decisions.catalogue
            )
        case nil:
            return failure(key, defaultValue, .general, "UNSUPPORTED: this vendor has no flags.")
        }
    }

    @inline(__always)
    private func result<Value: FlagReadable>(
        _ reading: FlagReading<Value>,
        _ catalogue: FlagCatalogue
    ) -> StatelessReading<Value> {
        let assignment = reading.place < 0 ? nil : catalogue.assignments[Int(reading.place)]
        return StatelessReading(reading: reading, assignment: assignment)
    }

    @inline(never)
    private func failure<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ code: ErrorCode,
        _ message: String
    ) -> StatelessReading<Value> {
        StatelessReading(reading: FlagReader.failure(key, defaultValue, code, message))
    }

    /// Records the exposure that a read without a session has revealed.
    @inline(never)
    func recordExposure<Value: FlagReadable>(
        _ assignment: Assignment,
        _ key: String,
        _ reading: FlagReading<Value>,
        _ defaultValue: Value,
        _ user: User
    ) {
        guard options.exposurePolicy != .manual, user.consent != .denied, let sink = roles.events else { return }
        let isNew = exposures.insert(ExposureKey(userID: user.id, assignment: assignment))
        guard isNew || options.exposurePolicy == .everyRead else { return }
        let event = TrackingEvent(
            .exposure(
                Exposure(
                    assignment: assignment,
                    flagKey: key,
                    value: reading.isBlank ? Optional.none : reading.details.value.flagValue,
                    defaultValue: defaultValue.flagValue
                )
            )
        )
        guard (try? sink.check(event)) != nil else { return }
        let envelope = Envelope(
            id: environment.makeID(),
            identity: user.identity,
            event: event,
            date: environment.time.now
        )
        outbox.note(envelope, consent: user.consent, isStated: true)
    }
}
