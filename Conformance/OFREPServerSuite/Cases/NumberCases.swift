import Experimentation

extension ServerCase {
    /// Number types on the wire: clients reject the wrong one.
    static let numbers: [ServerCase] =
        [
            typed("numbers/floats", "a float is written with a decimal point", .float) { value in
                if case .double = value { true } else { false }
            },
            typed("numbers/integers", "an integer is written without a decimal point", .integer) { value in
                if case .int = value { true } else { false }
            },
            typed("numbers/booleans", "a Boolean is true or false", .boolean) { $0.boolValue != nil },
            typed("numbers/texts", "a string is a string", .string) { $0.stringValue != nil },
            typed("numbers/objects", "an object is an object", .object) { value in
                if case .object = value { true } else { false }
            },
            ServerCase("numbers/safe", "integers stay within JavaScript's safe range") { probe in
                for item in try probe.goodItems() {
                    guard case .int(let number)? = item.value else { continue }
                    probe.expect(abs(Double(number)) <= 9_007_199_254_740_991, "\(item.key): \(number)")
                }
                probe.expect(true, "")
            },
        ]

    private static func typed(
        _ name: String,
        _ summary: String,
        _ type: ServerDeclaration.DeclaredType,
        _ fits: @escaping @Sendable (FlagValue) -> Bool
    ) -> ServerCase {
        ServerCase(name, summary) { probe in
            let keys = probe.declaration.types.filter { $0.value == type }.keys.sorted()
            if keys.isEmpty { throw probe.skip("no flags of the type \(type.rawValue) are declared") }
            let items = probe.survey.bulk?.byKey ?? [:]
            for key in keys {
                let alone = try await probe.ask(.one(Ask.encoded(key), probe.context))
                probe.expect(items[key] != nil && alone.status == 200, "\(key): declared, but not there")
                for value in [items[key]?.value, alone.members["value"]].compactMap({ $0 }) {
                    probe.expect(fits(value), "\(key): \(AnyJSON.text(value)) for the type \(type.rawValue)")
                }
            }
        }
    }
}
