import Experimentation

extension ConformanceCase {
    /// Promise 2: numbers convert only when nothing is lost; a Boolean is never a number.
    static let types: [ConformanceCase] = [
        ConformanceCase(
            "types/whole-as-fraction",
            promise: 2,
            "An integer can be read as a decimal number",
            requires: [.flags],
            needs: ["flags/seven", "flags/zero"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.double("seven", default: 0.5), equals: 7, "seven as a Double")
            probe.expect(session.double("zero", default: 0.5), equals: 0, "zero as a Double")
        },
        ConformanceCase(
            "types/fraction-without-rest-as-whole",
            promise: 2,
            "3.0 can be read as 3",
            requires: [.flags],
            needs: ["flags/whole"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.int("whole", default: 9), equals: 3, "3.0 as an Int")
            probe.expect(session.double("whole", default: 9), equals: 3, "3.0 as a Double")
        },
        mismatch("fraction-as-whole", "0.5 is not an integer", "half", default: 9),
        mismatch("boolean-as-whole", "True is not 1", "on", default: 9),
        mismatch("boolean-as-fraction", "False is not 0.0", "off", default: 9.5),
        mismatch("whole-as-boolean", "0 is not false", "zero", default: true),
        mismatch("digits-as-whole", "The string \"42\" is not the number 42", "digits", default: 9),
        mismatch("digits-as-fraction", "The string \"42\" is not the number 42.0", "digits", default: 9.5),
        mismatch("text-as-boolean", "The string \"true\" is not the Boolean", "truth", default: false),
        mismatch("boolean-as-text", "True is not a string", "on", default: "default"),
        mismatch("whole-as-text", "7 is not a string", "seven", default: "default"),
        mismatch("text-as-object", "A string is not an object", "word", default: ["k": 1] as FlagValue),
        mismatch("object-as-text", "An object is not a string", "object", default: "default", requires: [.objectFlags]),
        mismatch("list-as-boolean", "A list is not a Boolean", "list", default: false, requires: [.objectFlags]),
        ConformanceCase(
            "types/beyond-double",
            promise: 2,
            "An integer that a Double can't represent is not rounded",
            requires: [.flags],
            needs: ["flags/beyond"],
            world: World(name: "beyond", flags: [.init("beyond", 9_007_199_254_740_993)], users: [.ada])
        ) { probe in
            let session = try await probe.readySession()
            let details = session.details("beyond", default: 0.5)
            let whole = session.int("beyond", default: 1)
            probe.expect(whole, equals: 9_007_199_254_740_993, "the number as an Int")
            probe.expect(details.value, equals: 0.5, "the number as a Double")
            probe.expect(details.errorCode, equals: .typeMismatch, "the code")
        },
        ConformanceCase(
            "types/mismatch-hides-nothing",
            promise: 2,
            "After a read with the wrong type, the right type still works; neither sends a request",
            requires: [.flags],
            needs: ["flags/word"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            let before = try await probe.exchanges(.decisions).count
            probe.expect(session.int("word", default: 4), equals: 4, "the wrong type")
            probe.expect(session.string("word", default: "x"), equals: "tea", "the right type")
            probe.expect(try await probe.exchanges(.decisions).count, equals: before, "requests")
        },
    ]

    private static func mismatch<Value: MismatchValue>(
        _ name: String,
        _ summary: String,
        _ key: String,
        default defaultValue: Value,
        requires: Set<Capability> = []
    ) -> ConformanceCase {
        ConformanceCase(
            "types/\(name)",
            promise: 2,
            "\(summary): TYPE_MISMATCH and the default",
            requires: requires.union([.flags]),
            needs: ["flags/\(key)"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            let (value, reason, code) = defaultValue.read(key, in: session)
            probe.expect(value, equals: defaultValue, "the value")
            probe.expect(reason, equals: .error, "the reason")
            probe.expect(code, equals: .typeMismatch, "the code")
        }
    }
}

/// A default value that knows which read method takes it.
private protocol MismatchValue: Equatable, Sendable {
    func read(_ key: String, in session: UserSession) -> (Self, Reason, ErrorCode?)
}

extension Bool: MismatchValue {
    fileprivate func read(_ key: String, in session: UserSession) -> (Bool, Reason, ErrorCode?) {
        let details = session.details(key, default: self)
        return (details.value, details.reason, details.errorCode)
    }
}

extension Int: MismatchValue {
    fileprivate func read(_ key: String, in session: UserSession) -> (Int, Reason, ErrorCode?) {
        let details = session.details(key, default: self)
        return (details.value, details.reason, details.errorCode)
    }
}

extension Double: MismatchValue {
    fileprivate func read(_ key: String, in session: UserSession) -> (Double, Reason, ErrorCode?) {
        let details = session.details(key, default: self)
        return (details.value, details.reason, details.errorCode)
    }
}

extension String: MismatchValue {
    fileprivate func read(_ key: String, in session: UserSession) -> (String, Reason, ErrorCode?) {
        let details = session.details(key, default: self)
        return (details.value, details.reason, details.errorCode)
    }
}

extension FlagValue: MismatchValue {
    fileprivate func read(_ key: String, in session: UserSession) -> (FlagValue, Reason, ErrorCode?) {
        let details = session.details(key, default: self)
        return (details.value, details.reason, details.errorCode)
    }
}
