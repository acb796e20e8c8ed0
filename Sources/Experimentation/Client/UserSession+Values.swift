/// Reading flags. Nothing here waits, throws, allocates or touches the network.
///
/// What can't be answered is the default; ``details(_:default:)-(_,Bool)`` says why. The first read that reveals the variation of
/// an experiment records an exposure, by the client's ``ExposurePolicy``.
extension UserSession {
    /// The Boolean value of a flag, or the default.
    public func bool(_ key: String, default defaultValue: Bool) -> Bool { value(key, defaultValue) }
    /// The whole-number value of a flag, or the default.
    public func int(_ key: String, default defaultValue: Int) -> Int { value(key, defaultValue) }
    /// The numeric value of a flag, or the default.
    public func double(_ key: String, default defaultValue: Double) -> Double { value(key, defaultValue) }
    /// The text value of a flag, or the default.
    public func string(_ key: String, default defaultValue: String) -> String { value(key, defaultValue) }
    /// The object or list that a flag has as its value, or the default.
    public func object(_ key: String, default defaultValue: FlagValue) -> FlagValue { value(key, defaultValue) }

    /// The Boolean value of a flag, and why it is that.
    public func details(_ key: String, default defaultValue: Bool) -> EvaluationDetails<Bool> {
        evaluate(key, defaultValue)
    }
    /// The whole-number value of a flag, and why it is that.
    public func details(_ key: String, default defaultValue: Int) -> EvaluationDetails<Int> {
        evaluate(key, defaultValue)
    }
    /// The numeric value of a flag, and why it is that.
    public func details(_ key: String, default defaultValue: Double) -> EvaluationDetails<Double> {
        evaluate(key, defaultValue)
    }
    /// The text value of a flag, and why it is that.
    public func details(_ key: String, default defaultValue: String) -> EvaluationDetails<String> {
        evaluate(key, defaultValue)
    }
    /// The object or list that a flag has as its value, and why it is that.
    public func details(_ key: String, default defaultValue: FlagValue) -> EvaluationDetails<FlagValue> {
        evaluate(key, defaultValue)
    }

    // MARK: How

    /// What a quick read found out under the lane's lock.
    private enum Quick<Value: Sendable>: Sendable {
        case value(Value)
        case revealing(Value, place: Int32)
        case unclear
    }

    @inline(__always)
    private func value<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> Value {
        if !core.hooks.isEmpty { return evaluate(key, defaultValue).value }
        if core.isDisabled { return defaultValue }
        let quick = snapshots.read { snapshot -> Quick<Value> in
            if !snapshot.isPlain { return .unclear }
            guard let outcome = snapshot.decisions.chosen(key) else { return .value(defaultValue) }
            let place = outcome.pointee.place
            let isKnown =
                place < 0 || (snapshot.marks.contains(Int(place)) && core.options.exposurePolicy == .oncePerSession)
            guard let value = Value.read(outcome) else {
                // A flag without a value may still reveal a place.
                if !isKnown, case .none = outcome.pointee.scalar { return .unclear }
                return .value(defaultValue)
            }
            if isKnown { return .value(value) }
            return .revealing(value, place: place)
        }
        switch quick {
        case .value(let value): return value
        case .revealing(let value, let place):
            recordExposure(at: Int(place), key: key, value: value.flagValue, default: defaultValue.flagValue)
            return value
        case .unclear: return evaluate(key, defaultValue).value
        }
    }

    @inline(__always)
    private func evaluate<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> EvaluationDetails<Value> {
        let reading: FlagReading<Value>
        if core.hooks.isEmpty {
            reading = read(key, defaultValue)
        } else {
            let context = HookContext(
                flagKey: key,
                type: Value.valueType,
                defaultValue: defaultValue.flagValue,
                scope: core.hookScope,
                hints: [:],
                box: snapshots.read { $0.context }
            )
            reading = HookRun.around(core.hooks.all, context, default: defaultValue) { _ in read(key, defaultValue) }
        }
        if reading.place >= 0 {
            recordExposure(
                at: Int(reading.place),
                key: key,
                value: reading.isBlank ? Optional.none : reading.details.value.flagValue,
                default: defaultValue.flagValue
            )
        }
        return reading.details
    }

    /// Reads with everything that can be told; the place is -1 if its exposure need not be recorded any more.
    @inline(__always)
    private func read<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> FlagReading<Value> {
        if core.isDisabled { return FlagReader.disabled(key, defaultValue) }
        let isOnce = core.options.exposurePolicy == .oncePerSession
        let plain = snapshots.read { snapshot -> FlagReading<Value> in
            // Aged decisions are marked by a place that none has, which is cheaper than an optional.
            if !snapshot.isPlain { return aged(defaultValue) }
            return reading(of: snapshot, key, defaultValue, isOnce)
        }
        return plain.place == .min ? readAged(key, defaultValue, isOnce) : plain
    }

    @inline(never)
    private func aged<Value: FlagReadable>(_ defaultValue: Value) -> FlagReading<Value> {
        FlagReading(details: EvaluationDetails(flagKey: "", value: defaultValue, reason: .unknown), place: .min)
    }

    /// Reads decisions whose age matters.
    @inline(never)
    private func readAged<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ isOnce: Bool
    ) -> FlagReading<Value> {
        let now = core.environment.time.instant
        return snapshots.read { snapshot in
            if snapshot.revision == 0 { return notReady(key, defaultValue) }
            let isOverdue = snapshot.isOverdue
            if isOverdue, snapshot.afterExpiry == .notReady { return notReady(key, defaultValue) }
            var reason: Reason?
            if isOverdue || snapshot.origin == .stale {
                reason = .stale
            } else if snapshot.origin == .restored {
                reason = .cached
            }
            let age = reason == nil ? nil : snapshot.instant.duration(to: now)
            return reading(of: snapshot, key, defaultValue, isOnce, reason: reason, age: age)
        }
    }

    @inline(__always)
    private func reading<Value: FlagReadable>(
        of snapshot: Snapshot,
        _ key: String,
        _ defaultValue: Value,
        _ isOnce: Bool,
        reason: Reason? = nil,
        age: Duration? = nil
    ) -> FlagReading<Value> {
        var reading = FlagReader.details(
            key,
            default: defaultValue,
            outcome: snapshot.decisions.chosen(key),
            reason: reason,
            age: age
        )
        if isOnce, reading.place >= 0, snapshot.marks.contains(Int(reading.place)) { reading.place = -1 }
        return reading
    }

    @inline(never)
    private func notReady<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> FlagReading<Value> {
        switch core.roles.decisions {
        case nil:
            FlagReader.failure(key, defaultValue, core.noDecisions.code, core.noDecisions.message)
        default:
            core.status.status == .fatal
                ? FlagReader.failure(key, defaultValue, .providerFatal, "The provider has failed for good.")
                : FlagReader.failure(key, defaultValue, .providerNotReady, "There are no decisions for this user yet.")
        }
    }
}
