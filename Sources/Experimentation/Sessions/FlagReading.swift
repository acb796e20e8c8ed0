/// A type that a flag can be read as.
///
/// Conversions follow the neutral contract: integers and floating-point numbers convert only if nothing is lost, and a
/// Boolean is never a number.
protocol FlagReadable: Sendable {
    /// Reads an outcome as this type; `nil` if it has another type.
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> Self?
    /// The value without its type, for hooks.
    var flagValue: FlagValue { get }
    /// Reads a hook's or a resolution's value.
    static func read(_ value: FlagValue) -> Self?
}

extension Bool: FlagReadable {
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> Bool? {
        if case .bool(let value) = outcome.pointee.scalar { value } else { nil }
    }
    static func read(_ value: FlagValue) -> Bool? { value.boolValue }
    var flagValue: FlagValue { .bool(self) }
}

extension Int: FlagReadable {
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> Int? {
        switch outcome.pointee.scalar {
        case .int(let value): value
        case .double(let value): Int(exactly: value)
        default: nil
        }
    }
    static func read(_ value: FlagValue) -> Int? { value.intValue }
    var flagValue: FlagValue { .int(self) }
}

extension Double: FlagReadable {
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> Double? {
        switch outcome.pointee.scalar {
        case .double(let value): value
        case .int(let value): Double(exactly: value)
        default: nil
        }
    }
    static func read(_ value: FlagValue) -> Double? { value.doubleValue }
    var flagValue: FlagValue { .double(self) }
}

extension String: FlagReadable {
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> String? {
        guard case .reference = outcome.pointee.scalar else { return nil }
        return outcome.pointee.resolution.value.stringValue
    }
    static func read(_ value: FlagValue) -> String? { value.stringValue }
    var flagValue: FlagValue { .string(self) }
}

extension FlagValue: FlagReadable {
    static func read(_ outcome: UnsafePointer<FlagCatalogue.Outcome>) -> FlagValue? {
        guard case .reference = outcome.pointee.scalar else { return nil }
        return read(outcome.pointee.resolution.value)
    }
    static func read(_ value: FlagValue) -> FlagValue? {
        switch value {
        case .object, .array: value
        default: nil
        }
    }
    var flagValue: FlagValue { self }
}

/// One read of a flag: what the caller gets, and the assignment that it reveals.
struct FlagReading<Value: Sendable>: Sendable {
    var details: EvaluationDetails<Value>
    /// The assignment's index in the catalogue; -1 if there is none or it isn't to be recorded.
    var place: Int32
    /// Whether the variation leaves the value to the caller, so that the user sees the default because of it.
    var isBlank = false
}

/// The result of a quick read within a lane's lock.
enum QuickReading<Value: Sendable>: Sendable {
    case value(Value)
    /// It reveals an assignment of the catalogue, whose exposure has to be recorded.
    case revealing(Value, place: Int32, of: FlagCatalogue)
    /// It takes the long path: the decisions are old, or there is no value.
    case unclear
}

extension Decisions {
    /// Returns the flag's outcome for this user, or `nil`.
    @inline(__always)
    func chosen(_ key: String, hash: UInt32? = nil) -> UnsafePointer<FlagCatalogue.Outcome>? {
        let flag = if let hash { catalogue.find(key, hash: hash) } else { catalogue.find(key) }
        guard flag >= 0 else { return nil }
        let choice = choices[flag]
        guard choice != 0 else { return nil }
        return catalogue.outcome(flag, choice - 1)
    }
}

/// Reads an outcome as a type, by the neutral contract's rules for value, reason and error.
enum FlagReader {
    /// Reads with full details.
    ///
    /// - Parameters:
    ///   - key: The key as requested.
    ///   - defaultValue: What to return if there is no value.
    ///   - outcome: The outcome, or `nil` if the user doesn't have the flag.
    ///   - reason: The reason that replaces the outcome's if the decisions are old.
    ///   - age: The age of the decisions.
    /// - Returns: What the caller gets, and the assignment that it reveals.
    @inline(__always)
    static func details<Value: FlagReadable>(
        _ key: String,
        default defaultValue: Value,
        outcome: UnsafePointer<FlagCatalogue.Outcome>?,
        reason: Reason? = nil,
        age: Duration? = nil
    ) -> FlagReading<Value> {
        guard let outcome else {
            return failure(key, defaultValue, .flagNotFound, "No flag has this key for this user.")
        }
        if let value = Value.read(outcome) {
            return FlagReading(
                details: EvaluationDetails(
                    flagKey: key,
                    value: value,
                    variant: outcome.pointee.resolution.variant,
                    reason: reason ?? outcome.pointee.resolution.reason,
                    metadata: outcome.pointee.resolution.metadata,
                    age: age
                ),
                place: outcome.pointee.place
            )
        }
        return withoutValue(key, defaultValue, outcome, reason, age)
    }

    /// Reads a flag that is there but has no value of this type.
    @inline(never)
    private static func withoutValue<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ outcome: UnsafePointer<FlagCatalogue.Outcome>,
        _ reason: Reason?,
        _ age: Duration?
    ) -> FlagReading<Value> {
        let resolution = outcome.pointee.resolution
        if let code = resolution.error {
            var reading = failure(key, defaultValue, code, resolution.errorMessage ?? "The flag can't be read.")
            reading.details.metadata = resolution.metadata
            return reading
        }
        if resolution.value == .null {
            // The vendor has the flag and leaves the value to the caller: a default, not an error. Under an experiment
            // the variation says so, and seeing the default is seeing the variation.
            let isDisabled = resolution.reason == .disabled
            return FlagReading(
                details: EvaluationDetails(
                    flagKey: key,
                    value: defaultValue,
                    variant: resolution.variant,
                    reason: reason ?? (isDisabled ? .disabled : .default),
                    metadata: resolution.metadata,
                    age: age
                ),
                place: isDisabled ? -1 : outcome.pointee.place,
                isBlank: true
            )
        }
        var reading = failure(key, defaultValue, .typeMismatch, "The flag's value is of another type.")
        reading.details.metadata = resolution.metadata
        return reading
    }

    /// Returns the default because of an error.
    static func failure<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ code: ErrorCode,
        _ message: String
    ) -> FlagReading<Value> {
        FlagReading(
            details: EvaluationDetails(
                flagKey: key,
                value: defaultValue,
                reason: .error,
                errorCode: code,
                errorMessage: message
            ),
            place: -1
        )
    }

    /// Returns the default because the vendor's kill switch is on.
    static func disabled<Value: FlagReadable>(_ key: String, _ defaultValue: Value) -> FlagReading<Value> {
        FlagReading(
            details: EvaluationDetails(flagKey: key, value: defaultValue, reason: .disabled),
            place: -1
        )
    }
}
