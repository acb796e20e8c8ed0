import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Testing

@Suite("The first screen of a swap")
struct SwapSummaryTests {
    private static let running = [
        RunningExperiment(name: "Prices", advice: .finishFirst, reason: "half of its users would change"),
        RunningExperiment(name: "Checkout", advice: .importFirst, reason: "assignments are taken over"),
        RunningExperiment(name: "Search", advice: .carryOn, reason: "everybody keeps their variation"),
    ]

    private static var swap: Swap? { MadeUp.comparison.swap(from: "north", to: "south", running: .success(running)) }

    @Test("lists what breaks, changes, stays and is new, with running experiments first")
    func groups() throws {
        let summary = try #require(Self.swap?.summary)
        #expect(summary.breaks.lines.first?.what == "Experiment \"Prices\": half of its users would change")
        #expect(summary.breaks.lines.first?.advice == "finish it before the switch")
        #expect(summary.breaks.lines.contains { $0.what.contains("track(.purchase)") })
        #expect(summary.changes.lines.first?.what == "Experiment \"Checkout\": assignments are taken over")
        #expect(
            summary.stays.lines.map(\.what).prefix(2) == [
                "Experiment \"Search\": everybody keeps their variation", "1 of 5 steps of the story go as they did",
            ]
        )
        #expect(summary.gains.lines.map(\.what).contains("campaigns"))
    }

    @Test("unsupported parts of your own world are listed as breaks, before calls without effect")
    func gaps() async throws {
        let world = World.shop.changing { world in
            let rule = World.Flag.Rule(when: [World.Condition("joined", .before, "2026-03-01")], value: true)
            world.flags.append(World.Flag("early-birds", false, rules: [rule]))
            world.experiments[0].layer = .init("page", from: 0, to: 100)
        }
        let scenario = Scenario(
            name: "rules",
            title: "Rules",
            world: world,
            steps: [.init("Ada comes", .arrive(userID: "ada")), .init("She is greeted", .refresh)]
        )
        let comparison = await ComparisonRunner().run(scenario, with: [SigmaSubject(), FlagshipSubject()])
        let breaks = try #require(comparison.swap(from: "sigma", to: "flagship")?.summary.breaks.lines)
        #expect(
            breaks.prefix(2).map(\.what) == [
                "flags/early-birds: Flagship compares neither dates nor versions",
                "experiments/checkout/layer: Flagship has no layers",
            ]
        )
        let back = try #require(comparison.swap(from: "flagship", to: "sigma")?.summary.breaks.lines)
        #expect(!back.contains { $0.what.hasPrefix("flags/") || $0.what.hasPrefix("experiments/") })
    }

    @Test("a group has at most five lines, says how many more there are, and what to do about each break")
    func atMostFive() throws {
        let many = (1...9).map { RunningExperiment(name: "\($0)", advice: .finishFirst, reason: "it ends") }
        let swap = try #require(MadeUp.comparison.swap(from: "north", to: "south", running: .success(many)))
        #expect(swap.summary.breaks.lines.count == 5)
        #expect(swap.summary.breaks.more >= 4)
        for group in [swap.summary.breaks, swap.summary.changes] {
            #expect(group.lines.allSatisfy { !$0.advice.isEmpty })
        }
    }

    @Test("if running experiments can't be determined, that comes first among what breaks, with the reason")
    func untold() throws {
        let swap = try #require(
            MadeUp.comparison.swap(from: "north", to: "south", running: .failure(SubjectError.broken("it is shut")))
        )
        let line = try #require(swap.summary.breaks.lines.first)
        #expect(line.what == "Experiments: can't be told (it is shut)")
        #expect(line.advice == "xp compare --users says who would change variation")
    }

    @Test("the error that keeps running experiments from being determined is returned")
    func failure() async {
        let shut = Wayward(name: "shut", way: .refuse)
        let broken = await World.split.runningExperiments(from: InMemorySubject(), to: shut)
        #expect(throws: SubjectError.broken("it is shut")) { try broken.get() }
        let hanging = Wayward(name: "hangs", way: .hangAtStart)
        let late = await World.split.runningExperiments(
            from: InMemorySubject(),
            to: hanging,
            within: .milliseconds(20)
        )
        #expect(throws: Bounded.TimeIsUp.self) { try late.get() }
        let told = await World.split.runningExperiments(from: InMemorySubject(), to: InMemorySubject())
        #expect((try? told.get())?.map(\.advice) == [.carryOn])
    }

    @Test("fewer requests are better only if the new vendor takes the events that the old one takes")
    func fewerRequests() throws {
        func gains(_ requests: Int, taking: Bool, before: Bool = true) throws -> [String] {
            var comparison = MadeUp.comparison
            if !before { comparison.vendors[0].capabilities.removeAll { $0 == .tracking } }
            comparison.vendors[1] = comparison.vendors[0]
            comparison.vendors[1].name = "east"
            for index in comparison.vendors[1].outcomes.indices {
                comparison.vendors[1].outcomes[index].traffic.requests = index == 0 ? requests : 0
            }
            if !taking { comparison.vendors[1].capabilities.removeAll { $0 == .tracking } }
            return try #require(comparison.swap(from: "north", to: "east")).summary.gains.lines.map(\.what)
        }
        #expect(try gains(1, taking: true) == ["1 request in place of 3"])
        #expect(try gains(2, taking: true) == ["2 requests in place of 3"])
        #expect(try gains(3, taking: true) == [])
        #expect(try gains(1, taking: false) == [])
        #expect(try gains(1, taking: false, before: false) == ["1 request in place of 3"])
    }

    /// A way in which a vendor does less.
    struct Less: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout VendorStory) -> Void
    }

    @Test(
        "fewer requests don't count as better if the vendor does less",
        arguments: [
            Less(testDescription: "refuses events") { $0.refusedEvents = ["purchase": "no orders"] },
            Less(testDescription: "has no flags") { $0.capabilities.removeAll { $0 == .flags } },
            Less(testDescription: "can't say a flag") { $0.gaps = [WorldGap("flags/early-birds", "no dates")] },
            Less(testDescription: "loses events on their way") { $0.lost = 1 },
            Less(testDescription: "drops events") { $0.ledger = Ledger(accepted: 2, dropped: [.rejected: 2]) },
            Less(testDescription: "doesn't support a step") { $0.outcomes[2].kind = .unsupported },
            Less(testDescription: "fails at a step") { $0.outcomes[2].kind = .failed },
            Less(testDescription: "ends the story early") { $0.failure = "step 5 did not end within 10 s" },
        ]
    )
    func less(less: Less) throws {
        func gains(_ change: (inout VendorStory) -> Void) throws -> [String] {
            var comparison = MadeUp.comparison
            comparison.vendors[1] = comparison.vendors[0]
            comparison.vendors[1].name = "east"
            comparison.vendors[1].outcomes[1].traffic.requests = 0
            change(&comparison.vendors[1])
            return try #require(comparison.swap(from: "north", to: "east")).summary.gains.lines.map(\.what)
        }
        #expect(try gains { _ in } == ["2 requests in place of 3"])
        #expect(try gains(less.change) == [])
    }

    @Test("the summary comes first in every format", arguments: ["text", "markdown", "html"])
    func first(format: String) throws {
        let format = try #require(ComparisonReport.Format(rawValue: format))
        let text = ComparisonReport(MadeUp.comparison, swap: Self.swap).text(as: format)
        let titles = ["Breaks", "Changes silently", "Stays", "Gets better"]
        let places = try titles.map { try #require(text.range(of: $0)).lowerBound }
        #expect(places == places.sorted())
        let steps = try #require(text.range(of: "Her decisions are fetched")).lowerBound
        #expect(places.allSatisfy { $0 < steps })
    }

    @Test("events waiting on the day of the switch are named, with what happens to them and what to do")
    func waiting() throws {
        let waiting = try #require(Self.swap?.waiting)
        #expect(
            waiting.map(\.what) == [
                "Events in the outbox", "Events held for consent", "Sticky assignments", "Lists of forced users",
            ]
        )
        #expect(waiting[0].fate == "they stay owed to north, and south never gets them")
        #expect(waiting[2].fate == "south takes none over: users are drawn again")
    }

    @Test("steps are distinguished by what users see, among vendors that support them")
    func kinds() {
        #expect(
            (1...5).map { MadeUp.comparison.kind(of: $0) } == [
                .same, .unsupported, .unsupported, .different, .different,
            ]
        )
        var comparison = MadeUp.comparison
        comparison.vendors[1] = comparison.vendors[0]
        comparison.vendors[1].outcomes[2].evaluation?.reason = "CACHED"
        comparison.vendors[1].outcomes[2].evaluation?.variant = "variant of this world alone"
        comparison.vendors[1].outcomes[3].events.pending = 9
        #expect((1...5).map { comparison.kind(of: $0) } == [.same, .same, .anotherReason, .same, .same])
    }
}
