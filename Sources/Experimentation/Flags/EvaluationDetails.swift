/// A flag's value, with the reason for it.
public struct EvaluationDetails<Value: Sendable>: Sendable {
    /// The flag's key as requested.
    public var flagKey: String
    /// The value to use: the flag's, or the default.
    public var value: Value
    /// The vendor's name for the value, if it has one.
    public var variant: String?
    /// Why the flag has this value.
    public var reason: Reason
    /// What went wrong, if the default was returned because of an error.
    public var errorCode: ErrorCode?
    /// The error's message for a person.
    public var errorMessage: String?
    /// Further information on the flag from the vendor.
    public var metadata: [String: FlagValue]
    /// The age of a value with reason ``Reason/stale`` or ``Reason/cached``; `nil` for others.
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
