import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@testable import ComparisonKit

@Suite("Agreement of two vendors")
struct AgreementTests {
    /// Rules that assign users by the last digit of their id.
    private struct ByDigit: Ruleset {
        let catalogue: FlagCatalogue
        let honours: Bool
        /// The variation by digit of users on a list, whatever was imported of them.
        let forced: [Int: Int]
        let place: @Sendable (Int) -> Int?
        private let variations: Int

        init(
            _ variations: [String],
            honours: Bool = false,
            forced: [Int: Int] = [:],
            place: @escaping @Sendable (Int) -> Int?
        ) {
            let experiment = Experimentation.Experiment(id: "test")
            let places = [Assignment.Origin.allocated, .forcedByVendor].flatMap { origin in
                variations.map { Assignment(experiment: experiment, variation: Variation(id: $0), origin: origin) }
            }
            catalogue = FlagCatalogue(flags: [], assignments: places)
            self.honours = honours
            self.forced = forced
            self.place = place
            self.variations = variations.count
        }

        func decisions(for context: EvaluationContext) -> Decisions {
            let digit = Int(context.user.id.suffix(1)) ?? 0
            var chosen = place(digit)
            if honours, let earlier = context.earlierAssignments["test"] {
                chosen = catalogue.assignments.firstIndex { $0.variation.id == earlier } ?? chosen
            }
            if let listed = forced[digit] { chosen = variations + listed }
            return Decisions(catalogue: catalogue, outcomes: [], alsoAssigned: chosen.map { [$0] } ?? [])
        }
    }

    private static func side(
        _ name: String,
        _ variations: [String],
        weights: [Double],
        honours: Bool = false,
        forced: [Int: Int] = [:],
        place: @escaping @Sendable (Int) -> Int?
    ) -> Decider {
        Decider(
            name: name,
            source: .computed(ByDigit(variations, honours: honours, forced: forced, place: place)),
            keepsAssignments: honours,
            experiments: [
                TestedExperiment(
                    id: "test",
                    variations: zip(variations, weights).map { TestedExperiment.Arm(id: $0, weight: $1) }
                )
            ]
        )
    }

    private static func agreement(_ before: Decider, _ after: Decider, users: Int = 1_000) async -> Agreement {
        let runner = AgreementRunner(from: before, to: after, at: Date(timeIntervalSince1970: 0))
        let count = await runner.count(0..<users, lanes: 3) { AgreementRunner.Subject(User(id: "user-\($0)")) }
        return runner.agreement(of: count)
    }

    @Test("the confusion matrix counts every change of variation, including users outside the experiment")
    func matrix() async throws {
        // Before: 0–3 a, 4–7 b, 8 and 9 outside. After: 0–5 a, 6–8 b, 9 outside.
        let before = Self.side("one", ["a", "b"], weights: [50, 50]) { $0 < 4 ? 0 : $0 < 8 ? 1 : nil }
        let after = Self.side("other", ["a", "b"], weights: [60, 30]) { $0 < 6 ? 0 : $0 < 9 ? 1 : nil }
        let experiment = try #require(await Self.agreement(before, after).experiments.first)
        #expect(experiment.matrix == [[400, 0, 0], [200, 200, 0], [0, 100, 100]])
        #expect(experiment.imported == experiment.matrix)
        #expect([experiment.users, experiment.changed, experiment.joined] == [800, 200, 100] as [Int])
        #expect(experiment.share == 0.25)
        #expect(experiment.ratioBefore?.p == 1)
        #expect(experiment.ratioAfter?.observed == [600, 300])
        #expect(experiment.ratioAfter?.p == 1)
        #expect(experiment.advice == .finishFirst)
        #expect(experiment.reason.contains("takes no assignments over"))
    }

    @Test("a vendor that honors earlier assignments keeps all users, and so the old vendor's ratio")
    func imported() async throws {
        let before = Self.side("one", ["a", "b"], weights: [50, 50]) { $0 < 5 ? 0 : 1 }
        let after = Self.side("other", ["a", "b"], weights: [80, 20], honours: true) { $0 < 8 ? 0 : 1 }
        let experiment = try #require(await Self.agreement(before, after).experiments.first)
        #expect(experiment.matrix == [[500, 0, 0], [300, 200, 0], [0, 0, 0]])
        #expect(experiment.imported == [[500, 0, 0], [0, 500, 0], [0, 0, 0]])
        #expect([experiment.changed, experiment.changedImported] == [300, 0] as [Int])
        #expect(experiment.advice == .importFirst)
        #expect(experiment.ratioAfter?.isSuspect == false)
        #expect(experiment.ratioImported?.isSuspect == true)
    }

    @Test("an allocation with too few users says so, and one with a single variation isn't tested at any size")
    func untested() async throws {
        func verdicts(_ weights: [Double], users: Int) async -> [String] {
            let side = Self.side("one", ["a", "b"], weights: weights) { _ in 0 }
            let agreement = await Self.agreement(side, side, users: users)
            return agreement.experiments.flatMap { AgreementRows(agreement: agreement).ratios($0) }.map { $0[5] }
        }
        #expect(await verdicts([99, 1], users: 100) == ["too few to tell", "too few to tell"])
        #expect(await verdicts([50, 50], users: 0) == ["too few to tell", "too few to tell"])
        #expect(await verdicts([100, 0], users: 10) == [])
        #expect(await verdicts([100, 0], users: 100) == [])
    }

    @Test("an experiment that only one vendor has ends or begins with the switch")
    func alone() async throws {
        let before = Self.side("one", ["a", "b"], weights: [50, 50]) { _ in 0 }
        var none = Self.side("other", ["a"], weights: [1]) { _ in nil }
        none.experiments = []
        let ends = try #require(await Self.agreement(before, none).experiments.first)
        #expect(ends.matrix == [[1_000], [0], [0]])
        #expect(ends.advice == .finishFirst && ends.share == 1)
        let begins = try #require(await Self.agreement(none, before).experiments.first)
        #expect(begins.matrix == [[1_000, 0, 0]])
        #expect(begins.advice == .starts && begins.joined == 1_000)
    }

    @Test("the sums don't depend on the number of lanes or the size of blocks")
    func lanes() async {
        let before = Self.side("one", ["a", "b"], weights: [50, 50]) { $0 < 4 ? 0 : 1 }
        let after = Self.side("other", ["a", "b"], weights: [60, 30]) { $0 < 6 ? 0 : nil }
        let runner = AgreementRunner(from: before, to: after, at: Date(timeIntervalSince1970: 0))
        let subject: @Sendable (Int) -> AgreementRunner.Subject = { .init(User(id: "user-\($0)")) }
        let whole = await runner.count(0..<997, lanes: 1, subject)
        var parts = runner.nothing
        for start in stride(from: 0, to: 997, by: 100) {
            parts.add(await runner.count(start..<min(997, start + 100), lanes: 7, subject))
        }
        #expect(parts == whole)
        #expect(whole.users == 997)
    }

    @Test("variations are paired by name, by values, then by control and order, and the report says which rule applied")
    func pairing() {
        typealias Arm = TestedExperiment.Arm
        func test(_ variations: [Arm]) -> [TestedExperiment] { [TestedExperiment(id: "t", variations: variations)] }
        let plain = test([Arm(id: "a", weight: 1), Arm(id: "b", weight: 1)])
        let named = test([Arm(id: "1", name: "B", weight: 1), Arm(id: "2", name: "A", weight: 1)])
        #expect(Pairing(plain, named).pairs.map(\.variations) == [[1, 0]])
        #expect(Pairing(plain, named).pairs.map(\.way) == [.names])
        let one = test([
            Arm(id: "a", weight: 1, values: ["f": .int(1)]), Arm(id: "b", weight: 1, values: ["f": .int(2)]),
        ])
        let other = test([
            Arm(id: "x", weight: 1, values: ["f": .int(2)]), Arm(id: "y", weight: 1, values: ["f": .int(1)]),
        ])
        #expect(Pairing(one, other).pairs == [Pairing.Pair(before: 0, after: 0, variations: [1, 0], way: .values)])
        let controls = test([Arm(id: "x", weight: 1), Arm(id: "y", weight: 1, isControl: true)])
        let others = test([Arm(id: "c", weight: 1, isControl: true), Arm(id: "d", weight: 1)])
        #expect(
            Pairing(controls, others).pairs == [Pairing.Pair(before: 0, after: 0, variations: [1, 0], way: .order)]
        )
        let given = Pairing.Given("t", "T", variations: ["x": "c", "y": "d"])
        #expect(
            Pairing(controls, others, given: [given]).pairs
                == [Pairing.Pair(before: 0, after: 0, variations: [0, 1], way: .given)]
        )
    }

    @Test("given pairs come before equal names, in whatever order the vendors list their experiments")
    func givenFirst() {
        func tests(_ names: [String]) -> [TestedExperiment] { names.map { TestedExperiment(id: $0, variations: []) } }
        let given = [Pairing.Given("button_test", "Buttons"), Pairing.Given("lost", "nowhere")]
        func pairs(_ before: [String], _ after: [String]) -> [[String?]] {
            Pairing(tests(before), tests(after), given: given).pairs.map { pair in
                [pair.before.map { before[$0] }, pair.after.map { after[$0] }, pair.way?.rawValue]
            }
        }
        #expect(
            pairs(["buttons", "button_test", "prices"], ["prices", "Buttons"]) == [
                ["buttons", nil, nil], ["button_test", "Buttons", "names"], ["prices", "prices", "names"],
            ]
        )
        // An experiment that has a given partner gets no other.
        #expect(pairs(["lost"], ["lost"]) == [["lost", nil, nil], [nil, "lost", nil]])
    }

    @Test("given names ignore case, and an id takes precedence over another experiment's name")
    func givenNames() {
        typealias Arm = TestedExperiment.Arm
        let arms = [Arm(id: "A", weight: 1), Arm(id: "B", weight: 1)]
        let others = [Arm(id: "x", weight: 1), Arm(id: "y", weight: 1)]
        let given = Pairing.Given("t", "t", variations: ["a": "Y"])
        #expect(
            Pairing(
                [TestedExperiment(id: "t", variations: arms)],
                [TestedExperiment(id: "t", variations: others)],
                given: [given]
            ).pairs.map(\.variations) == [[1, 0]]
        )
        let before = [TestedExperiment(id: "1", name: "2", variations: []), TestedExperiment(id: "2", variations: [])]
        let after = [TestedExperiment(id: "new", variations: [])]
        #expect(Pairing(before, after, given: [Pairing.Given("2", "new")]).pairs.map(\.after) == [nil, 0])
    }

    @Test("users whom one of the vendors forces aren't part of the ratio after a hand-over, and those who join are")
    func forcedByOne() async throws {
        // By the last digit. Before: 0–2 a, 3–5 b, 6 and 7 forced to a. After: 0–7 by the hand-over, 5 forced to a, 8 a.
        let before = Self.side("one", ["a", "b"], weights: [50, 50], forced: [6: 0, 7: 0]) {
            $0 < 3 ? 0 : $0 < 6 ? 1 : nil
        }
        let after = Self.side("other", ["a", "b"], weights: [50, 50], honours: true, forced: [5: 0]) {
            $0 < 4 || $0 == 8 ? 0 : $0 < 8 ? 1 : nil
        }
        let experiment = try #require(await Self.agreement(before, after).experiments.first)
        #expect(experiment.ratioBefore?.observed == [300, 300])
        #expect(experiment.imported == [[500, 0, 0], [100, 200, 0], [100, 0, 100]])
        #expect(experiment.ratioImported?.observed == [400, 200])
    }

    @Test("generated users are distinct and the same in every run")
    func population() {
        let population = Population(like: [.ada, .ben])
        #expect(population[0] == population[0])
        #expect(population[1].attributes == User.ben.attributes)
        #expect(Set((0..<10_000).map { population[$0].id }).count == 10_000)
        #expect(population[7].id.count == 16)
    }

    @Test("two vendors with different hashes disagree about half of the users, and each keeps its weights")
    func vendors() async throws {
        let world = World.switchDay
        let sigma = try await SigmaSubject().open(world)
        let flagship = try await #require(Vendor.everySubject.first { $0.name == "flagship-bucketing" }).open(world)
        let runner = AgreementRunner(
            from: try await Decider(
                name: "sigma",
                provider: sigma.makeProvider(),
                experiments: world.testedExperiments
            ),
            to: try await Decider(
                name: "flagship",
                provider: flagship.makeProvider(),
                experiments: world.testedExperiments
            ),
            at: Date(timeIntervalSince1970: 1_795_262_400)
        )
        let population = Population(like: world.users)
        let agreement = runner.agreement(of: await runner.count(0..<20_000) { .init(population[$0]) })
        await sigma.close()
        await flagship.close()
        #expect(agreement.users == 20_000)
        #expect((1_700...2_300).contains(agreement.heldOutBefore))
        #expect(agreement.heldOutAfter == 0)
        #expect(agreement.experiments.map(\.pairedBy) == [.names, .names, .names])
        for experiment in agreement.experiments {
            #expect(experiment.ratioBefore?.isSuspect == false, "\(experiment.id)")
            #expect(experiment.ratioAfter?.isSuspect == false, "\(experiment.id)")
            // Each user is in exactly one cell.
            let users: [Int] = experiment.matrix.flatMap(\.self)
            #expect(users.reduce(0, +) == 20_000)
        }
        let byID = Dictionary(uniqueKeysWithValues: agreement.experiments.map { ($0.id, $0) })
        let checkout = try #require(byID["checkout"])
        #expect((0.48...0.52).contains(checkout.share))
        #expect(checkout.changedImported == 0 && checkout.advice == .importFirst)
        // The vendor's iOS rules don't keep a control without flags, so it is drawn again.
        let prices = try #require(byID["prices"])
        #expect(prices.advice == .finishFirst && prices.shareImported > 0.1 && prices.shareImported < prices.share)
    }

    @Test("received exposures are counted by user, with repetitions and losses separate")
    func exposures() async throws {
        let trial = ExposureTrial(of: InMemorySubject(), in: .split, users: 40)
        for profile in FaultProfile.allCases {
            let ratio = try #require(await trial.play(profile).first)
            #expect(ratio.problem == nil, "\(profile): \(ratio.problem ?? "")")
            #expect(ratio.seen.reduce(0, +) == 40, "\(profile)")
            #expect(ratio.arrived == ratio.seen, "\(profile)")
            #expect(ratio.ratio?.isSuspect == false, "\(profile)")
        }
        let none = await ExposureTrial(of: SigmaSubject(), in: .split, users: 4).play(.calm)
        #expect(none.first?.problem?.contains("Sigma takes no events") == true)
    }
}
