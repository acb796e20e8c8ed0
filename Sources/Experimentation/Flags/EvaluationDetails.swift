/// A flag's value and why it is that.
public struct EvaluationDetails<Value: Sendable>: Sendable {
    /// The flag's key as it was asked for.
    public var flagKey: String
    /// The value to use: the flag's, or the default.
    public var value: Value
    /// The vendor's name for the value, if it has one.
    public var variant: String?
    /// Why the value is what it is.
    public var reason: Reason
    /// What went wrong, if the default is returned because of that.
    public var errorCode: ErrorCode?
    /// The same for a person.
    public var errorMessage: String?
    /// What else the vendor says of the flag.
    public var metadata: [String: FlagValue]
    /// How old a value with reason ``Reason/stale`` or ``Reason/cached`` is; `nil` for others.
    public var age: Duration?

    /// Creates details.
    public init(
        flagKey: String,
        value: Value,
        variant: String? = nil,
        reason: Reason,
        errorCode: ErrorCode? = nil,
        errorMessage: String? = nil,
        metadata: [String: FlagValue] = [:],
        age: Duration? = nil
    ) {
        self.flagKey = flagKey
        self.value = value
        self.variant = variant
        self.reason = reason
        self.errorCode = errorCode
        self.errorMessage = errorMessage
        self.metadata = metadata
        self.age = age
    }
}

extension EvaluationDetails: Equatable where Value: Equatable {}
