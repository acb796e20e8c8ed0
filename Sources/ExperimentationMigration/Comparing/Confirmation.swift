import Experimentation

/// Whether a mismatch is real rather than a matter of timing.
///
/// Most false mismatches come from two configurations of different age. So a mismatch counts only if a second look
/// shows the same and neither configuration has changed in between. The second look asks both vendors again, a moment
/// later.
public enum Confirmation: Sendable, Hashable {
    /// Still there, and no configuration has changed.
    case confirmed
    /// No longer there.
    case gone
    /// A configuration has changed; look again.
    case undecided

    /// Compares two looks at one flag for one user.
    public static func judge(_ first: Mismatch, _ second: Mismatch?) -> Confirmation {
        guard let second else { return .gone }
        guard isUnchanged(first.old, second.old), isUnchanged(first.new, second.new) else { return .undecided }
        return first.kind == second.kind ? .confirmed : .undecided
    }

    /// Whether a vendor's configuration was the same at both looks: by version, otherwise by its answer.
    private static func isUnchanged(_ one: Mismatch.Answer, _ two: Mismatch.Answer) -> Bool {
        if one.failure != nil || two.failure != nil { return one.failure == two.failure }
        if one.version != nil || two.version != nil { return one.version == two.version }
        return one.resolution?.variant == two.resolution?.variant
            && one.resolution?.error == two.resolution?.error
            && FlagComparison.areEqual(one.resolution?.value, two.resolution?.value)
    }
}
