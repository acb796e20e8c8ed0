import Foundation

/// The result of a read without a session, with the assignment to expose, if any.
struct StatelessReading<Value: Sendable>: Sendable {
    var reading: FlagReading<Value>
    var assignment: Assignment?
}

extension ClientCore {
    /// Evaluates one flag without a session: hooks, the read, and the exposure that follows from it.
    @inline(__always)
    func evaluate<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext,
        _ options: EvaluationOptions?,
        _ read: (EvaluationContext) -> StatelessReading<Value>
    ) -> EvaluationDetails<Value> {
        let reading = reading(key, defaultValue, context, options, read)
        recordExposure(of: reading, key, defaultValue, context.user)
        return reading.reading.details
    }

    /// Reads one flag without a session, with hooks; the caller records the exposure.
    @inline(__always)
    func reading<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext,
        _ options: EvaluationOptions?,
        _ read: (EvaluationContext) -> StatelessReading<Value>
    ) -> StatelessReading<Value> {
        if hooks.isEmpty, options == nil { return read(context) }
        return readWithHooks(key, defaultValue, context, options ?? EvaluationOptions(), read)
    }

    /// Records the exposure that follows from a read without a session, if there is one.
    @inline(__always)
    func recordExposure<Value: FlagReadable>(
        of reading: StatelessReading<Value>,
        _ key: String,
        _ defaultValue: Value,
        _ user: User
    ) {
        guard let assignment = reading.assignment else { return }
        recordExposure(
            of: assignment,
            key: key,
            value: reading.reading.isBlank ? Optional.none : reading.reading.details.value.flagValue,
            default: defaultValue.flagValue,
            user
        )
    }

    @inline(never)
    private func readWithHooks<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext,
        _ options: EvaluationOptions,
        _ read: (EvaluationContext) -> StatelessReading<Value>
    ) -> StatelessReading<Value> {
        let hookContext = HookContext(
            flagKey: key,
            type: Value.valueType,
            defaultValue: defaultValue.flagValue,
            scope: hookScope,
            hints: options.hints,
            box: ContextBox(context)
        )
        var assignment: Assignment?
        let reading = HookRun.around(hooks.with(options.hooks), hookContext, default: defaultValue) { context in
            let read = read(context.evaluationContext)
            assignment = read.assignment
            return read.reading
        }
        return StatelessReading(reading: reading, assignment: reading.details.errorCode == nil ? assignment : nil)
    }

    /// Reads one flag for a user.
    func read<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ context: EvaluationContext
    ) -> StatelessReading<Value> {
        if let value = flagOverrides[key] {
            return StatelessReading(reading: FlagReader.overridden(key, defaultValue, by: value))
        }
        if isDisabled { return StatelessReading(reading: FlagReader.disabled(key, defaultValue)) }
        if context.user.hasNoID {
            return failure(key, defaultValue, .targetingKeyMissing, "The user has no id.")
        }
        switch roles.decisions {
        case .computed:
            guard let rules else { return failure(key, defaultValue, .providerNotReady, "There are no rules yet.") }
            return rules.published.read { rules in
                guard let ruleset = rules.reader else {
                    return status.status == .fatal
                        ? failure(key, defaultValue, .providerFatal, "The provider has failed for good.")
                        : failure(key, defaultValue, .providerNotReady, "There are no rules yet.")
                }
                let standing = rules.standing
                if standing == .gone { return overdue(key, defaultValue) }
                let flag = rules.catalogue.find(key)
                let chosen = flag < 0 ? nil : ruleset.outcome(ofFlag: flag, for: context)
                // A ruleset comes from an adapter, possibly a third party's: check its index before using it to access
                // memory.
                let outcome = chosen.flatMap { choice in
                    choice >= 0 && choice < rules.catalogue.outcomeCount(ofFlag: flag)
                        ? rules.catalogue.outcome(flag, choice) : nil
                }
                let reason: Reason? = standing == .stale ? .stale : rules.isRestored ? .cached : nil
                return result(
                    FlagReader.details(
                        key,
                        default: defaultValue,
                        outcome: outcome,
                        reason: reason,
                        age: reason == nil
                            ? nil : rules.age(at: environment.time)
                    ),
                    rules.catalogue
                )
            }
        case .asked:
            guard let held = cache.decisions(for: context.user) else {
                return failure(key, defaultValue, .providerNotReady, "There are no decisions for this user yet.")
            }
            return read(key, defaultValue, from: held)
        case nil:
            return failure(key, defaultValue, noDecisions.code, noDecisions.message)
        }
    }

    /// Reads one flag from the given decisions.
    func read<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        from held: HeldDecisions
    ) -> StatelessReading<Value> {
        if let value = flagOverrides[key] {
            return StatelessReading(reading: FlagReader.overridden(key, defaultValue, by: value))
        }
        if isDisabled { return StatelessReading(reading: FlagReader.disabled(key, defaultValue)) }
        let standing = held.standing
        if standing == .gone { return overdue(key, defaultValue) }
        let isStale = standing == .stale
        return result(
            FlagReader.details(
                key,
                default: defaultValue,
                outcome: held.decisions.chosen(key),
                reason: isStale ? .stale : nil,
                age: isStale ? held.instant.duration(to: environment.time.instant) : nil
            ),
            held.decisions.catalogue
        )
    }

    /// Wraps decisions with the data that determines their age.
    func hold(
        _ decisions: Decisions,
        madeAt instant: ContinuousClock.Instant? = nil,
        by freshness: Freshness
    ) -> HeldDecisions {
        let instant = instant ?? environment.time.instant
        return HeldDecisions(
            decisions: decisions,
            instant: instant,
            expiry: Expiry(of: freshness, madeAt: instant, by: environment.time),
            afterExpiry: options.afterExpiry ?? freshness.afterExpiry
        )
    }

    @inline(__always)
    private func result<Value: FlagReadable>(
        _ reading: FlagReading<Value>,
        _ catalogue: FlagCatalogue
    ) -> StatelessReading<Value> {
        let assignment = reading.place < 0 ? nil : catalogue.assignments[Int(reading.place)]
        return StatelessReading(reading: reading, assignment: assignment)
    }

    /// Returns the default because the decisions have expired; as in a session, no bundled value is used instead.
    @inline(never)
    private func overdue<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> StatelessReading<Value> {
        StatelessReading(
            reading: FlagReader.failure(
                key,
                defaultValue,
                .providerNotReady,
                "The decisions for this user are overdue."
            )
        )
    }

    @inline(never)
    private func failure<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ code: ErrorCode,
        _ message: String
    ) -> StatelessReading<Value> {
        if code == .providerNotReady, let outcome = bootstrap?.chosen(key) {
            return StatelessReading(reading: FlagReader.details(key, default: defaultValue, outcome: outcome))
        }
        return StatelessReading(reading: FlagReader.failure(key, defaultValue, code, message))
    }

    /// Records the exposure of an assignment, by the policy.
    @inline(never)
    func recordExposure(
        of assignment: Assignment,
        key: String,
        value: FlagValue?,
        default defaultValue: FlagValue,
        _ user: User
    ) {
        guard options.exposurePolicy != .manual else { return }
        let exposure = Exposure(of: assignment, through: key, value: value, default: defaultValue)
        noteExposure(exposure, user, isRepeatable: options.exposurePolicy == .everyRead)
    }
}
