/// A test of one property, with its operands already parsed.
struct SigmaCondition: Sendable {
    /// The tested property.
    let property: Property
    private let test: Test
    private let isNegated: Bool
    /// Whether a missing property passes.
    private let passesWithoutProperty: Bool
    private let ignoresCase: Bool

    private enum Test: Sendable {
        case never
        case text(Comparison, [String])
        case number(Order, Double)
        case version(Order, VersionNumber)
        case day(LocalMoment)
        case moment(Order, LocalMoment)
    }

    private enum Comparison: Sendable {
        case equal
        case prefix
        case suffix
        case part
    }

    private enum Order: Sendable {
        case equal
        case notEqual
        case greater
        case less
        case greaterOrEqual
        case lessOrEqual

        func holds<Value: Comparable>(_ one: Value, _ other: Value) -> Bool {
            switch self {
            case .equal: one == other
            case .notEqual: one != other
            case .greater: one > other
            case .less: one < other
            case .greaterOrEqual: one >= other
            case .lessOrEqual: one <= other
            }
        }
    }

    init(_ wire: SigmaWire.Condition, assuming assumptions: SigmaAssumptions) {
        property = Property(wire.name)
        ignoresCase = assumptions.textIgnoresCase
        test = Self.test(for: wire, of: property, ignoringCase: assumptions.textIgnoresCase)
        isNegated = wire.sign.isNegation
        passesWithoutProperty = assumptions.missingPropertyPassesNegations && isNegated
    }

    /// Whether a property with this text passes; a missing property doesn't.
    func holds(for text: String?) -> Bool {
        guard let text else { return passesWithoutProperty }
        switch test {
        case .never: return false
        case .text(let comparison, let operands):
            let text = ignoresCase ? text.lowercased() : text
            return operands.contains { Self.matches(text, comparison, $0) } != isNegated
        case .number(let order, let operand):
            guard let number = Double(described: text) else { return false }
            return order.holds(number, operand)
        case .version(let order, let operand):
            guard let version = VersionNumber(text) else { return false }
            return order.holds(version, operand)
        case .day(let operand):
            return LocalMoment(text)?.day == operand.day
        case .moment(let order, let operand):
            guard let moment = LocalMoment(text) else { return false }
            return order.holds(moment, operand)
        }
    }

    private static func matches(_ text: String, _ comparison: Comparison, _ operand: String) -> Bool {
        switch comparison {
        case .equal: text == operand
        case .prefix: text.hasPrefix(operand)
        case .suffix: text.hasSuffix(operand)
        case .part: operand.isEmpty || text.contains(operand)
        }
    }

    private static func test(
        for wire: SigmaWire.Condition,
        of property: Property,
        ignoringCase: Bool
    ) -> Test {
        let operands = ignoringCase ? wire.value.map { $0.lowercased() } : wire.value
        guard let first = operands.first else { return .never }
        func ordered(_ order: Order) -> Test {
            if property.isVersion {
                VersionNumber(first).map { .version(order, $0) } ?? .never
            } else {
                Double(decimal: first).map { .number(order, $0) } ?? .never
            }
        }
        func moment(_ test: (LocalMoment) -> Test) -> Test { LocalMoment(first).map(test) ?? .never }

        return switch wire.sign {
        case .equal where property.isVersion: ordered(.equal)
        case .notEqual where property.isVersion: ordered(.notEqual)
        case .equal, .notEqual: .text(.equal, [first])
        case .anyOf, .noneOf: .text(.equal, operands)
        case .contains, .notContains: .text(.part, [first])
        case .containsAnyOf, .containsNoneOf: .text(.part, operands)
        case .startsWith, .notStartsWith: .text(.prefix, [first])
        case .endsWith, .notEndsWith: .text(.suffix, [first])
        case .greater: ordered(.greater)
        case .less: ordered(.less)
        case .greaterEqual: ordered(.greaterOrEqual)
        case .lessEqual: ordered(.lessOrEqual)
        case .onDate: moment { .day($0) }
        case .afterTime: moment { .moment(.greater, $0) }
        case .beforeTime: moment { .moment(.less, $0) }
        }
    }
}

extension SigmaWire.Sign {
    /// Whether the operator is a negation.
    var isNegation: Bool {
        switch self {
        case .notEqual, .noneOf, .containsNoneOf, .notStartsWith, .notEndsWith, .notContains: true
        default: false
        }
    }
}

/// Conditions and the way they are joined.
struct Audience: Sendable {
    private let statement: SigmaWire.Statement
    private let conditions: [SigmaCondition]

    init(_ wire: SigmaWire.Audience, assuming assumptions: SigmaAssumptions) {
        statement = wire.statement
        conditions = wire.conditions.map { SigmaCondition($0, assuming: assumptions) }
    }

    /// Whether a user with these properties belongs to it.
    ///
    /// An empty list matches every user if joined by `AND`, and none if joined by `OR`.
    func includes(_ reading: PropertyReading) -> Bool {
        switch statement {
        case .unconditional: true
        case .all: conditions.allSatisfy { $0.holds(for: reading.text(of: $0.property)) }
        case .any: conditions.contains { $0.holds(for: reading.text(of: $0.property)) }
        }
    }

    /// Whether a condition looks at the time or the day.
    var looksAtClock: Bool { conditions.contains { $0.property.source == .time || $0.property.source == .date } }
}
