import Experimentation

/// Users made up by their number: the same number is the same user in every run.
public struct Population: Sendable {
    /// Users whose attributes are given out in turn; none if there are none.
    private let models: [Attributes]

    /// Creates a population.
    ///
    /// - Parameter models: Users whose attributes the made-up ones have, in turn.
    public init(like models: [User] = []) { self.models = models.map(\.attributes) }

    /// The user with a number, who has agreed to be tracked.
    public subscript(number: Int) -> User {
        User(
            id: Self.id(number),
            attributes: models.isEmpty ? [:] : models[number % models.count],
            consent: .granted
        )
    }

    /// Sixteen digits that look like chance, because ids that count up are no test of a hash.
    static func id(_ number: Int) -> String {
        // SplitMix64's finaliser: one to one, so that no two numbers share an id.
        var mixed = UInt64(truncatingIfNeeded: number) &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        mixed ^= mixed >> 31
        return String(unsafeUninitializedCapacity: 16) { digits in
            for place in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: mixed >> UInt64(60 - 4 * place)) & 0xF
                digits[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            }
            return 16
        }
    }
}
