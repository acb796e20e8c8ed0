/// The formula for a user's position between 0 and 100 in a draw, and the one place to plug in the vendor's own.
///
/// The vendor's formula is not public. ``inferred`` is a stand-in with the same inputs and the same properties (even,
/// independent, stable), so **parity with the production service is unproven**. If you know the real one, pass it:
///
/// ```swift
/// configuration.bucketing = SigmaBucketing { draw, splitID, salt in realFormula(draw, splitID, salt) }
/// ```
public struct SigmaBucketing: Sendable {
    /// The purpose of a draw.
    public enum Draw: Sendable, Hashable {
        /// The part of a layer; the salt is the layer's id.
        case layer
        /// Whether the user takes part; the salt is the experiment's.
        case traffic
        /// The group; the salt is the experiment's.
        case group

        /// The suffix of the salt in the hashed text.
        var suffix: StaticString {
            switch self {
            case .layer: ""
            case .traffic: "a"
            case .group: "sad"
            }
        }
    }

    /// The formula, unless it is the inferred one.
    let formula: (@Sendable (Draw, _ splitID: String, _ salt: String) -> Double)?

    /// Creates a formula.
    ///
    /// - Parameter formula: Returns a number from 0 up to, but not including, 100; must be pure, and is called often.
    public init(_ formula: @escaping @Sendable (_ draw: Draw, _ splitID: String, _ salt: String) -> Double) {
        self.formula = formula
    }

    private init() { formula = nil }

    /// The first eight bytes of an MD5 digest as a fraction of their range.
    public static let inferred = SigmaBucketing()

    /// Returns a user's position in a draw, from 0 up to, but not including, 100.
    public func position(in draw: Draw, splitID: String, salt: String) -> Double {
        if let formula { return formula(draw, splitID, salt) }
        return Self.bucket(of: Array((splitID + salt + draw.suffix.description).utf8))
    }

    /// Computes the inferred formula on the bytes of a text.
    package static func bucket(of text: [UInt8]) -> Double {
        // The quotient rounds up to 1 for the highest digests; a position must stay below 100.
        min(Double(MD5(of: text).prefix) / 18_446_744_073_709_551_616 * 100, (100.0).nextDown)
    }
}
