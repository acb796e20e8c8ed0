import Experimentation
import ExperimentationMigration
import Testing

@Suite("Mismatches")
struct ComparisonTests {
    typealias Answer = Mismatch.Answer

    static func answer(_ value: FlagValue, variant: String? = "a", reason: Reason = .split, version: String? = "1")
        -> Answer
    {
        Answer(Resolution(value, variant: variant, reason: reason), version: version)
    }

    @Test(
        "the first difference determines the class",
        arguments: [
            (answer("x"), answer("x"), nil),
            (answer(1), answer(1.0), nil),
            (answer(["a": [1, 2.0]]), answer(["a": [1.0, 2]]), nil),
            (answer("x"), Answer(failure: .timeout), Mismatch.Kind.late),
            (answer("x"), Answer(failure: .transport), .error),
            (answer("x"), Answer(Resolution.unreadable(.parseError, "bad")), .error),
            (answer("x"), Answer(), .missing),
            (answer("1"), answer(1), .type),
            (answer(9_007_199_254_740_993), answer(9_007_199_254_740_992.0), .value),
            (answer(["a": 1]), answer(["a": 1, "b": 2]), .value),
            (answer("x"), answer("x", variant: "b"), .variant),
            (answer("x"), answer("x", reason: .static), .reason),
        ] as [(Answer, Answer, Mismatch.Kind?)]
    )
    func classes(old: Answer, new: Answer, kind: Mismatch.Kind?) {
        #expect(FlagComparison.difference(old, new) == kind)
        #expect(FlagComparison.difference(new, old) == kind)
    }

    static func mismatch(_ old: Answer, _ new: Answer, _ kind: Mismatch.Kind = .value) -> Mismatch {
        Mismatch(key: "f", type: "string", kind: kind, leader: .old, old: old, new: new, user: "digest")
    }

    @Test("a mismatch counts only if it persists while both configurations stay the same")
    func confirmation() {
        let first = Self.mismatch(Self.answer("a", version: "1"), Self.answer("b", version: "2"))
        #expect(Confirmation.judge(first, first) == .confirmed)
        #expect(Confirmation.judge(first, nil) == .gone)
        let changed = Self.mismatch(Self.answer("a", version: "1"), Self.answer("c", version: "3"))
        #expect(Confirmation.judge(first, changed) == .undecided)
    }

    @Test("without a version, the vendor's answer must stay the same")
    func confirmationWithoutVersions() {
        let first = Self.mismatch(Self.answer("a", version: nil), Self.answer("b", version: nil))
        let changed = Self.mismatch(Self.answer("c", version: nil), Self.answer("b", version: nil))
        #expect(Confirmation.judge(first, first) == .confirmed)
        #expect(Confirmation.judge(first, changed) == .undecided)
    }
}
