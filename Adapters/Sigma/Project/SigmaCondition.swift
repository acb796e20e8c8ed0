/// A test of one property, with its operands already parsed.
struct SigmaCondition: Sendable {
    private typealias Test = @Sendable (String) -> Bool

    let property: Property
    private let test: Test
    /// Whether a missing property passes.
    private let passesWithoutProperty: Bool

    init(_ wire: SigmaWire.Condition, assuming assumptions: SigmaAssumptions) {
        property = Property(wire.name)
        test = Self.test(wire, of: property, ignoringCase: assumptions.textIgnoresCase)
        passesWithoutProperty = assumptions.missingPropertyPassesNegations && wire.sign.isNegation
    }

    /// Whether a property with this text passes; a missing property doesn't.
    func holds(for text: String?) -> Bool { text.map(test) ?? passesWithoutProperty }

    private static func test(_ wire: SigmaWire.Condition, of property: Property, ignoringCase: Bool) -> Test {
        @Sendable func folded(_ text: String) -> String { ignoringCase ? text.lowercased() : text }
        let (operands, isNegation) = (wire.value.map(folded), wire.sign.isNegation)
        guard let first = operands.first else { return { _ in false } }
        func text(_ operands: [String], _ matches: @escaping @Sendable (String, String) -> Bool) -> Test {
            { text in
                let text = folded(text)
                return operands.contains { matches(text, $0) } != isNegation
            }
        }
        func ordered(_ holds: @escaping @Sendable (Int) -> Bool) -> Test {
            property.isVersion
                ? compared(VersionNumber(first), { VersionNumber($0) }, holds)
                : compared(Double(decimal: first), { Double(described: $0) }, holds)
        }
        func timed(_ holds: @escaping @Sendable (Int) -> Bool) -> Test {
            compared(LocalMoment(first), { LocalMoment($0) }, holds)
        }

        return switch wire.sign {
        case .equal where property.isVersion: ordered { $0 == 0 }
        case .notEqual where property.isVersion: ordered { $0 != 0 }
        case .equal, .notEqual: text([first]) { $0 == $1 }
        case .anyOf, .noneOf: text(operands) { $0 == $1 }
        case .contains, .notContains: text([first]) { $1.isEmpty || $0.contains($1) }
        case .containsAnyOf, .containsNoneOf: text(operands) { $1.isEmpty || $0.contains($1) }
        case .startsWith, .notStartsWith: text([first]) { $0.hasPrefix($1) }
        case .endsWith, .notEndsWith: text([first]) { $0.hasSuffix($1) }
        case .greater: ordered { $0 > 0 }
        case .less: ordered { $0 < 0 }
        case .greaterEqual: ordered { $0 >= 0 }
        case .lessEqual: ordered { $0 <= 0 }
        case .onDate: compared(LocalMoment(first)?.day, { LocalMoment($0)?.day }) { $0 == 0 }
        case .afterTime: timed { $0 > 0 }
        case .beforeTime: timed { $0 < 0 }
        }
    }

    /// Returns a test of how a text compares with an operand (below 0 means less); anything unreadable never passes.
    private static func compared<Value: Comparable & Sendable>(
        _ operand: Value?,
        _ read: @escaping @Sendable (String) -> Value?,
        _ holds: @escaping @Sendable (Int) -> Bool
    ) -> Test {
        { text in
            guard let operand, let value = read(text) else { return false }
            return holds(value < operand ? -1 : value > operand ? 1 : 0)
        }
    }
}

extension SigmaWire.Sign {
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

    var looksAtClock: Bool { conditions.contains { $0.property.source == .time || $0.property.source == .date } }
}
