/// Reading flags. Nothing here waits, throws or touches the network, and nothing allocates, except for the one read
/// that records an exposure.
///
/// What can't be answered reads as the default; ``details(_:default:)-(_,Bool)`` says why. The first read that reveals
/// the variation of an experiment records an exposure, by the client's ``ExposurePolicy``.
extension UserSession {
    /// The Boolean value of a flag, or the default.
    public func bool(_ key: String, default defaultValue: Bool) -> Bool { value(key, defaultValue) }
    /// The whole-number value of a flag, or the default.
    public func int(_ key: String, default defaultValue: Int) -> Int { value(key, defaultValue) }
    /// The numeric value of a flag, or the default.
    public func double(_ key: String, default defaultValue: Double) -> Double { value(key, defaultValue) }
    /// The text value of a flag, or the default.
    public func string(_ key: String, default defaultValue: String) -> String { value(key, defaultValue) }
    /// The object or list value of a flag, or the default.
    public func object(_ key: String, default defaultValue: FlagValue) -> FlagValue { value(key, defaultValue) }

    /// The Boolean value of a flag, with the reason for it.
    public func details(_ key: String, default defaultValue: Bool) -> EvaluationDetails<Bool> {
        evaluate(key, defaultValue)
    }
    /// The whole-number value of a flag, with the reason for it.
    public func details(_ key: String, default defaultValue: Int) -> EvaluationDetails<Int> {
        evaluate(key, defaultValue)
    }
    /// The numeric value of a flag, with the reason for it.
    public func details(_ key: String, default defaultValue: Double) -> EvaluationDetails<Double> {
        evaluate(key, defaultValue)
    }
    /// The text value of a flag, with the reason for it.
    public func details(_ key: String, default defaultValue: String) -> EvaluationDetails<String> {
        evaluate(key, defaultValue)
    }
    /// The object or list value of a flag, with the reason for it.
    public func details(_ key: String, default defaultValue: FlagValue) -> EvaluationDetails<FlagValue> {
        evaluate(key, defaultValue)
    }

    // MARK: Application types

    /// The value of a flag as an application's type, or the default.
    ///
    /// It is decoded once and kept as long as the decisions stay. A value that doesn't fit reads as the default;
    /// ``details(_:as:default:)`` says where it doesn't fit.
    public func value<Value: Decodable & Sendable>(
        _ key: String,
        as type: Value.Type = Value.self,
        default defaultValue: Value
    ) -> Value { evaluate(key, as: type, defaultValue).value }

    /// The value of a flag as an application's type, with the reason for it.
    public func details<Value: Decodable & Sendable>(
        _ key: String,
        as type: Value.Type,
        default defaultValue: Value
    ) -> EvaluationDetails<Value> { evaluate(key, as: type, defaultValue) }

    // MARK: With hooks and hints of one evaluation

    /// The Boolean value of a flag, evaluated with hooks and hints of its own.
    public func details(
        _ key: String,
        default defaultValue: Bool,
        options: EvaluationOptions
    ) -> EvaluationDetails<Bool> { evaluate(key, defaultValue, options) }
    /// The whole-number value of a flag, evaluated with hooks and hints of its own.
    public func details(
        _ key: String,
        default defaultValue: Int,
        options: EvaluationOptions
    ) -> EvaluationDetails<Int> { evaluate(key, defaultValue, options) }
    /// The numeric value of a flag, evaluated with hooks and hints of its own.
    public func details(
        _ key: String,
        default defaultValue: Double,
        options: EvaluationOptions
    ) -> EvaluationDetails<Double> { evaluate(key, defaultValue, options) }
    /// The text value of a flag, evaluated with hooks and hints of its own.
    public func details(
        _ key: String,
        default defaultValue: String,
        options: EvaluationOptions
    ) -> EvaluationDetails<String> { evaluate(key, defaultValue, options) }
    /// The object or list value of a flag, evaluated with hooks and hints of its own.
    public func details(
        _ key: String,
        default defaultValue: FlagValue,
        options: EvaluationOptions
    ) -> EvaluationDetails<FlagValue> { evaluate(key, defaultValue, options) }

    // MARK: Implementation

    @inline(__always)
    func value<Value: FlagReadable>(_ key: String, _ defaultValue: Value, hash: UInt32? = nil) -> Value {
        if core.isDetoured { return evaluate(key, defaultValue).value }
        if core.isDisabled { return defaultValue }
        let quick = snapshots.read { snapshot -> QuickReading<Value> in
            if !snapshot.isPlain { return .unclear }
            guard let outcome = snapshot.decisions.chosen(key, hash: hash) else { return .value(defaultValue) }
            let isRevealing = mustRecord(outcome.pointee.place, of: snapshot)
            guard let value = Value.read(outcome) else {
                // A flag without a value may still reveal an assignment.
                if isRevealing, case .none = outcome.pointee.scalar { return .unclear }
                return .value(defaultValue)
            }
            if !isRevealing { return .value(value) }
            return .revealing(value, place: outcome.pointee.place, of: snapshot.decisions.catalogue)
        }
        switch quick {
        case .value(let value): return value
        case .revealing(let value, let place, let catalogue):
            recordExposure(
                at: Int(place),
                of: catalogue,
                key: key,
                value: value.flagValue,
                default: defaultValue.flagValue
            )
            return value
        case .unclear: return evaluate(key, defaultValue).value
        }
    }

    /// Whether a read that reveals an assignment has to record its exposure.
    @inline(__always)
    private func mustRecord(_ place: Int32, of snapshot: Snapshot) -> Bool {
        if place < 0 { return false }
        return switch core.options.exposurePolicy {
        case .oncePerSession: !snapshot.marks.contains(Int(place))
        case .everyRead: true
        case .manual: false
        }
    }

    /// Reads with hooks, including those of this evaluation; the caller records the exposure.
    @inline(never)
    private func readWithHooks<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ options: EvaluationOptions,
        _ catalogue: inout FlagCatalogue?
    ) -> FlagReading<Value> {
        let context = HookContext(
            flagKey: key,
            type: Value.valueType,
            defaultValue: defaultValue.flagValue,
            scope: core.hookScope,
            hints: options.hints,
            box: snapshots.read { $0.context }
        )
        return HookRun.around(core.hooks.with(options.hooks), context, default: defaultValue) { _ in
            read(key, defaultValue, &catalogue)
        }
    }

    /// Reads a flag as an application's type.
    private func evaluate<Value: Decodable & Sendable>(
        _ key: String,
        as type: Value.Type,
        _ defaultValue: Value
    ) -> EvaluationDetails<Value> {
        let none = RawFlag(flagValue: .null)
        var catalogue: FlagCatalogue?
        let reading =
            core.hooks.isEmpty
            ? read(key, none, &catalogue) : readWithHooks(key, none, EvaluationOptions(), &catalogue)
        let (details, isRevealing) = reading.details.decoded(default: defaultValue) {
            decoded.value(key, $0, as: type)
        }
        if isRevealing { recordExposure(of: reading, key, none, catalogue) }
        return details
    }

    @inline(__always)
    private func evaluate<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Value> {
        var catalogue: FlagCatalogue?
        let reading =
            core.hooks.isEmpty && options == nil
            ? read(key, defaultValue, &catalogue)
            : readWithHooks(key, defaultValue, options ?? EvaluationOptions(), &catalogue)
        recordExposure(of: reading, key, defaultValue, catalogue)
        return reading.details
    }

    /// Records the exposure that follows from a read, if it is still to be recorded.
    @inline(__always)
    private func recordExposure<Value: FlagReadable>(
        of reading: FlagReading<Value>,
        _ key: String,
        _ defaultValue: Value,
        _ catalogue: FlagCatalogue?
    ) {
        guard let catalogue else { return }
        recordExposure(
            at: Int(reading.place),
            of: catalogue,
            key: key,
            value: reading.isBlank ? Optional.none : reading.details.value.flagValue,
            default: defaultValue.flagValue
        )
    }

    /// Reads with all details.
    ///
    /// - Parameters:
    ///   - key: The flag.
    ///   - defaultValue: The caller's default.
    ///   - catalogue: Set to the catalogue of the decisions that were read if an exposure has to be recorded. As a part
    ///     of the result it would double the cost of every read.
    /// - Returns: The reading.
    @inline(__always)
    private func read<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ catalogue: inout FlagCatalogue?
    ) -> FlagReading<Value> {
        if !core.flagOverrides.isEmpty, let value = core.flagOverrides[key] {
            return FlagReader.overridden(key, defaultValue, by: value)
        }
        if core.isDisabled { return FlagReader.disabled(key, defaultValue) }
        let plain = snapshots.read { snapshot -> FlagReading<Value> in
            // Aged decisions are marked by an impossible place, which is cheaper than an optional.
            if !snapshot.isPlain { return aged(defaultValue) }
            return reading(of: snapshot, key, defaultValue, &catalogue)
        }
        return plain.place == .min ? readAged(key, defaultValue, &catalogue) : plain
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
        _ catalogue: inout FlagCatalogue?
    ) -> FlagReading<Value> {
        let now = core.environment.time.instant
        return snapshots.read { snapshot in
            if snapshot.revision == 0 { return notReady(key, defaultValue, snapshot.decisions) }
            let isOverdue = snapshot.isOverdue
            if isOverdue, snapshot.afterExpiry == .notReady { return notReady(key, defaultValue, .none) }
            var reason: Reason?
            if isOverdue || snapshot.origin == .stale {
                reason = .stale
            } else if snapshot.origin == .restored {
                reason = .cached
            }
            let age = reason == nil ? nil : snapshot.instant.duration(to: now)
            return reading(of: snapshot, key, defaultValue, &catalogue, reason: reason, age: age)
        }
    }

    @inline(__always)
    private func reading<Value: FlagReadable>(
        of snapshot: Snapshot,
        _ key: String,
        _ defaultValue: Value,
        _ catalogue: inout FlagCatalogue?,
        reason: Reason? = nil,
        age: Duration? = nil
    ) -> FlagReading<Value> {
        let reading = FlagReader.details(
            key,
            default: defaultValue,
            outcome: snapshot.decisions.chosen(key),
            reason: reason,
            age: age
        )
        if mustRecord(reading.place, of: snapshot) { catalogue = snapshot.decisions.catalogue }
        return reading
    }

    @inline(never)
    private func notReady<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ bundled: Decisions
    ) -> FlagReading<Value> {
        if let outcome = bundled.chosen(key) { return FlagReader.details(key, default: defaultValue, outcome: outcome) }
        return switch core.roles.decisions {
        case nil:
            FlagReader.failure(key, defaultValue, core.noDecisions.code, core.noDecisions.message)
        default:
            core.status.status == .fatal
                ? FlagReader.failure(key, defaultValue, .providerFatal, "The provider has failed for good.")
                : FlagReader.failure(key, defaultValue, .providerNotReady, "There are no decisions for this user yet.")
        }
    }
}
