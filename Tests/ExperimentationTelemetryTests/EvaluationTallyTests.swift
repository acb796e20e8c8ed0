import Experimentation
import Testing

@testable import ExperimentationTelemetry

@Suite("Counts by flag")
struct EvaluationTallyTests {
    private func read(_ key: String, _ variant: String? = "on") -> EvaluationDetails<FlagValue> {
        EvaluationDetails(flagKey: key, value: true, variant: variant, reason: .static)
    }

    private func series(_ key: String, _ variant: String = "on") -> EvaluationTally.Series {
        EvaluationTally.Series(key: ExactText(key), variant: ExactText(variant), reason: "static", error: "")
    }

    private func users(_ users: [(key: String, variant: String, count: Int)]) -> [ExactText: [ExactText: Int]] {
        users.reduce(into: [:]) { $0[ExactText($1.key), default: [:]][ExactText($1.variant)] = $1.count }
    }

    /// Returns the estimate for users who are counted in a given order.
    private func estimate(_ users: [String]) -> Int {
        var count = UserCount()
        for user in users { count.insert(UserCount.number(of: user)) }
        return Int(count.estimate.rounded())
    }

    @Test(
        "as many flags as the limit says are counted separately, however alike their keys are",
        arguments: [1, 10, 1_000]
    )
    func separate(limit: Int) {
        let tally = EvaluationTally(limit: limit)
        let keys = (0..<limit).map { "feature-\($0)0" }
        for key in keys + ["one-more", "another"] + keys { tally.add(read(key), of: "") }
        var counts = Dictionary(uniqueKeysWithValues: keys.map { (series($0), 2) })
        counts[series("_other")] = 2
        #expect(tally.take().evaluations == counts)
    }

    @Test("the users of all flags over the limit are counted together")
    func usersOfOthers() {
        let tally = EvaluationTally(limit: 1)
        let users = (0..<200).map { "user-\($0)" }
        tally.add(read("first"), of: "user-0")
        for (number, user) in users.enumerated() { tally.add(read("flag-\(number % 50)"), of: user) }
        for user in users { tally.add(read("last"), of: user) }
        tally.add(read("_other"), of: "user-0")
        let growth = tally.take()
        #expect(growth.evaluations == [series("first"): 1, series("_other"): 401])
        #expect(growth.users == self.users([("first", "on", 1), ("_other", "on", estimate(users))]))
    }

    @Test("no variant and an empty name are one variant")
    func unnamed() {
        let tally = EvaluationTally(limit: 1)
        tally.add(read("flag", nil), of: "user-0")
        tally.add(read("flag", ""), of: "user-1")
        let growth = tally.take()
        #expect(growth.evaluations == [series("flag", ""): 2])
        #expect(growth.users == users([("flag", "", estimate(["user-0", "user-1"]))]))
    }

    @Test("two flags, or two variants, whose names are canonically equivalent are counted separately")
    func equivalentNames() {
        let tally = EvaluationTally(limit: 10)
        let names = ["e\u{301}", "\u{e9}"]
        for name in names {
            tally.add(read(name), of: "user-0")
            tally.add(read("flag", name), of: "user-0")
        }
        let growth = tally.take()
        let counts = names.flatMap { [(series($0), 1), (series("flag", $0), 1)] }
        #expect(growth.evaluations == Dictionary(uniqueKeysWithValues: counts))
        #expect(growth.users == users(names.flatMap { [($0, "on", 1), ("flag", $0, 1)] }))
    }
}
