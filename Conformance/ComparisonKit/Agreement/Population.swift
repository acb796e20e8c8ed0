import Experimentation

/// Generated users: the same number yields the same user in every run.
public struct Population: Sendable {
    /// The attributes that are assigned in rotation; none if empty.
    private let models: [Attributes]

    /// Creates a population.
    ///
    /// - Parameter models: Users whose attributes are assigned in rotation.
    public init(like models: [User] = []) { self.models = models.map(\.attributes) }

    /// The user with a number, with consent granted.
    public subscript(number: Int) -> User {
        User(
            id: Self.id(number),
            attributes: models.isEmpty ? [:] : models[number % models.count],
            consent: .granted
        )
    }

    /// Sixteen random-looking digits, because sequential ids are no test of a hash.
    static func id(_ number: Int) -> String {
        // SplitMix64's finalizer is a bijection, so no two numbers share an id.
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
