/// A user's position between 0 and 100 in one draw: the one place to plug in the vendor's own formula.
///
/// The vendor's formula is not public. ``inferred`` is a stand-in with the same inputs and the same properties (even,
/// independent, stable), so **parity with the production service is unproven**. Who knows the real one passes it:
///
/// ```swift
/// configuration.bucketing = SigmaBucketing { draw, splitID, salt in realFormula(draw, splitID, salt) }
/// ```
public struct SigmaBucketing: Sendable {
    /// What is being drawn for.
    public enum Draw: Sendable, Hashable {
        /// The part of a layer; the salt is the layer's id.
        case layer
        /// Whether the user takes part; the salt is the experiment's.
        case traffic
        /// The group; the salt is the experiment's.
        case group

        /// What follows the salt in the text that is summed.
        var suffix: StaticString {
            switch self {
            case .layer: ""
            case .traffic: "a"
            case .group: "sad"
            }
        }
    }

    /// The formula, if it isn't the inferred one.
    let formula: (@Sendable (Draw, _ splitID: String, _ salt: String) -> Double)?

    /// Creates a formula.
    ///
    /// - Parameter formula: Gives a number from 0 up to, but not including, 100; pure, and called often.
    public init(_ formula: @escaping @Sendable (_ draw: Draw, _ splitID: String, _ salt: String) -> Double) {
        self.formula = formula
    }

    private init() { formula = nil }

    /// The first eight bytes of an MD5 sum as a share of all that they could be.
    public static let inferred = SigmaBucketing()

    /// A user's position in a draw, from 0 up to 100.
    public func position(in draw: Draw, splitID: String, salt: String) -> Double {
        if let formula { return formula(draw, splitID, salt) }
        return Self.bucket(of: Array((splitID + salt + draw.suffix.description).utf8))
    }

    /// The inferred formula over the bytes of a text.
    package static func bucket(of text: [UInt8]) -> Double {
        // The quotient rounds up to 1 for the highest sums; a position must stay below 100.
        min(Double(MD5(of: text).prefix) / 18_446_744_073_709_551_616 * 100, (100.0).nextDown)
    }
}
