import Experimentation

/// Whether a mismatch is one, or two clocks.
///
/// Most false mismatches are two configurations of different age. So a mismatch counts only if a second look, a moment later
/// and with both vendors asked afresh, shows the same, and neither configuration has changed between the looks.
public enum Confirmation: Sendable, Hashable {
    /// It is still there, and nothing has changed meanwhile.
    case confirmed
    /// It is gone.
    case gone
    /// A configuration has changed: look again.
    case undecided

    /// Judges two looks at one flag for one user.
    public static func judge(_ first: Mismatch, _ second: Mismatch?) -> Confirmation {
        guard let second else { return .gone }
        guard isUnchanged(first.old, second.old), isUnchanged(first.new, second.new) else { return .undecided }
        return first.kind == second.kind ? .confirmed : .undecided
    }

    /// Whether a vendor's configuration was the same at both looks: by its version or, where none is told, by what it says.
    private static func isUnchanged(_ one: Mismatch.Answer, _ two: Mismatch.Answer) -> Bool {
        if one.failure != nil || two.failure != nil { return one.failure == two.failure }
        if one.version != nil || two.version != nil { return one.version == two.version }
        return one.resolution?.variant == two.resolution?.variant
            && one.resolution?.error == two.resolution?.error
            && FlagComparison.areEqual(one.resolution?.value, two.resolution?.value)
    }
}
