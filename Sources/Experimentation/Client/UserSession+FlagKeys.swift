/// Reading flags by typed keys.
///
/// These behave like the reads by string, including exposures and hooks.
extension UserSession {
    /// The Boolean value of a flag, or its default.
    public subscript(flag: FlagKey<Bool>) -> Bool { value(flag.key, flag.defaultValue, hash: flag.hash) }
    /// The whole-number value of a flag, or its default.
    public subscript(flag: FlagKey<Int>) -> Int { value(flag.key, flag.defaultValue, hash: flag.hash) }
    /// The numeric value of a flag, or its default.
    public subscript(flag: FlagKey<Double>) -> Double { value(flag.key, flag.defaultValue, hash: flag.hash) }
    /// The text value of a flag, or its default.
    public subscript(flag: FlagKey<String>) -> String { value(flag.key, flag.defaultValue, hash: flag.hash) }
    /// The object or list value of a flag, or its default.
    public subscript(flag: FlagKey<FlagValue>) -> FlagValue { value(flag.key, flag.defaultValue, hash: flag.hash) }
    /// The value of a flag as an application's type, or its default; decoded once for as long as it stays the same.
    public subscript<Value: Decodable & Sendable>(flag: FlagKey<Value>) -> Value {
        value(flag.key, as: Value.self, default: flag.defaultValue)
    }

    /// The Boolean value of a flag, with the reason for it.
    public func details(_ flag: FlagKey<Bool>) -> EvaluationDetails<Bool> {
        details(flag.key, default: flag.defaultValue)
    }
    /// The whole-number value of a flag, with the reason for it.
    public func details(_ flag: FlagKey<Int>) -> EvaluationDetails<Int> {
        details(flag.key, default: flag.defaultValue)
    }
    /// The numeric value of a flag, with the reason for it.
    public func details(_ flag: FlagKey<Double>) -> EvaluationDetails<Double> {
        details(flag.key, default: flag.defaultValue)
    }
    /// The text value of a flag, with the reason for it.
    public func details(_ flag: FlagKey<String>) -> EvaluationDetails<String> {
        details(flag.key, default: flag.defaultValue)
    }
    /// The object or list value of a flag, with the reason for it.
    public func details(_ flag: FlagKey<FlagValue>) -> EvaluationDetails<FlagValue> {
        details(flag.key, default: flag.defaultValue)
    }
    /// The value of a flag as an application's type, with the reason for it.
    public func details<Value: Decodable & Sendable>(_ flag: FlagKey<Value>) -> EvaluationDetails<Value> {
        details(flag.key, as: Value.self, default: flag.defaultValue)
    }
}

/// Reading one user's decisions by typed keys.
extension UserDecisions {
    /// The Boolean value of a flag, or its default.
    public subscript(flag: FlagKey<Bool>) -> Bool { bool(flag.key, default: flag.defaultValue) }
    /// The whole-number value of a flag, or its default.
    public subscript(flag: FlagKey<Int>) -> Int { int(flag.key, default: flag.defaultValue) }
    /// The numeric value of a flag, or its default.
    public subscript(flag: FlagKey<Double>) -> Double { double(flag.key, default: flag.defaultValue) }
    /// The text value of a flag, or its default.
    public subscript(flag: FlagKey<String>) -> String { string(flag.key, default: flag.defaultValue) }
    /// The object or list value of a flag, or its default.
    public subscript(flag: FlagKey<FlagValue>) -> FlagValue { object(flag.key, default: flag.defaultValue) }
    /// The value of a flag as an application's type, or its default.
    public subscript<Value: Decodable & Sendable>(flag: FlagKey<Value>) -> Value {
        value(flag.key, as: Value.self, default: flag.defaultValue)
    }
}
