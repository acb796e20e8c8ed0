import Foundation

/// A flag of the server, with its targeting.
struct OFREPMockFlag: Sendable {
    /// A condition on an attribute.
    struct Condition: Sendable {
        var attribute: String
        var comparison: String
        var value: MockJSON
    }

    /// One of the values that users are split between.
    struct Share: Sendable {
        var variant: String
        var weight: Int
        var value: MockJSON
    }

    var key: String
    var value: MockJSON
    var isDisabled: Bool
    var isBroken: Bool
    /// Whether its numbers are written with a fraction.
    var isFloat: Bool
    var rules: [(when: [Condition], value: MockJSON)]
    /// The salt of the bucketing hash; empty for a flag without a split.
    var salt: String
    var shares: [Share]
    var forced: [String: String]
    var audience: [Condition]

    /// Parses a file of flags.
    static func read(_ data: Data) throws(MockWorldError) -> [OFREPMockFlag] {
        guard let flags = MockJSON.parse(data)?["flags"]?.object else {
            throw MockWorldError("flags: expected an object of flags by their keys")
        }
        var read: [OFREPMockFlag] = []
        for key in flags.keys.sorted() {
            guard let members = flags[key]?.object, let value = members["value"] else {
                throw MockWorldError("flags.\(key): expected an object with a value")
            }
            let split = members["split"]
            read.append(
                OFREPMockFlag(
                    key: key,
                    value: value,
                    isDisabled: members["disabled"]?.bool ?? false,
                    isBroken: members["broken"]?.bool ?? false,
                    isFloat: members["float"]?.bool ?? false,
                    rules: (members["rules"]?.array ?? []).map { rule in
                        (Condition.list(rule["when"]), rule["value"] ?? .null)
                    },
                    salt: split?["salt"]?.string ?? "",
                    shares: (split?["shares"]?.array ?? []).map { share in
                        Share(
                            variant: share["variant"]?.string ?? "",
                            weight: share["weight"]?.int ?? 0,
                            value: share["value"] ?? .null
                        )
                    },
                    forced: (split?["forced"]?.object ?? [:]).compactMapValues(\.string),
                    audience: Condition.list(split?["when"])
                )
            )
        }
        return read
    }

    /// The flag as it appears in a user's answer.
    func item(for question: OFREPMockQuestion) -> MockJSON {
        if isBroken {
            return .object([
                "key": .string(key), "errorCode": "PARSE_ERROR", "errorDetails": "the flag's definition can't be read",
            ])
        }
        // Without a value, so that the caller's default applies.
        if isDisabled { return .object(["key": .string(key), "reason": "DISABLED", "variant": "off"]) }
        if let rule = rules.first(where: { $0.when.allSatisfy { $0.isMet(by: question) } }) {
            return item(rule.value, variant: "rule", reason: "TARGETING_MATCH")
        }
        if let share = share(of: question) { return item(share.value, variant: share.variant, reason: "SPLIT") }
        let isPlain = rules.isEmpty && salt.isEmpty
        return item(value, variant: "default", reason: isPlain ? "STATIC" : "DEFAULT")
    }

    private func item(_ value: MockJSON, variant: String, reason: String) -> MockJSON {
        let value = isFloat ? value.number.map { .double($0) } ?? value : value
        return .object([
            "key": .string(key), "value": value, "variant": .string(variant), "reason": .string(reason),
            "metadata": .object(["owner": "shop"]),
        ])
    }

    private func share(of question: OFREPMockQuestion) -> Share? {
        if let forced = forced[question.user] { return shares.first { $0.variant == forced } }
        guard !salt.isEmpty, audience.allSatisfy({ $0.isMet(by: question) }) else { return nil }
        var rest = Int(Self.number(Array("\(salt):\(question.user)".utf8)) % 100)
        for share in shares {
            if rest < share.weight { return share }
            rest -= share.weight
        }
        return nil
    }

    /// A hash of the bytes, as text.
    static func hash(_ bytes: [UInt8]) -> String { String(number(bytes), radix: 16) }

    private static func number(_ bytes: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash ^ hash >> 32
    }
}

extension OFREPMockFlag.Condition {
    static func list(_ value: MockJSON?) -> [Self] {
        (value?.array ?? []).map { condition in
            Self(
                attribute: condition["attribute"]?.string ?? "",
                comparison: condition["comparison"]?.string ?? "",
                value: condition["value"] ?? .null
            )
        }
    }

    func isMet(by question: OFREPMockQuestion) -> Bool {
        guard let actual = question.attributes[attribute], !actual.isNull else { return false }
        switch comparison {
        case "equals": return (value.array ?? [value]).contains { Self.equal($0, actual) }
        case "notEquals": return !Self.equal(value, actual)
        case "lessThan": return Self.isOrdered(actual, value)
        case "greaterThan": return Self.isOrdered(value, actual)
        case "contains":
            guard let text = actual.string, let part = value.string else { return false }
            return part.isEmpty || text.contains(part)
        default: return false
        }
    }

    private static func equal(_ one: MockJSON, _ other: MockJSON) -> Bool {
        if let one = one.number, let other = other.number { return one == other }
        return one == other
    }

    private static func isOrdered(_ one: MockJSON, _ other: MockJSON) -> Bool {
        if let one = one.number, let other = other.number { return one < other }
        if let one = one.string, let other = other.string { return one < other }
        return false
    }
}

extension MockJSON: ExpressibleByStringLiteral {
    /// Creates a string value.
    init(stringLiteral value: String) { self = .string(value) }
}
