import ComparisonKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("Playing a scenario")
struct RunnerTests {
    @Test("every shipped scenario plays to its end without a vendor", arguments: Scenario.shipped)
    func playsShipped(scenario: Scenario) async throws {
        let comparison = await ComparisonRunner().run(scenario, with: [InMemorySubject()])
        let story = try #require(comparison.vendors.first)
        #expect(story.failure == nil)
        #expect(story.outcomes.map(\.step) == Array(1...scenario.steps.count))
        #expect(story.outcomes.filter { $0.kind == .unsupported || $0.kind == .broken } == [])
        #expect(story.ledger.isBalanced)
        #expect(story.lost == 0)
    }

    @Test("the checkout is recorded step by step")
    func tellsTheCheckout() async throws {
        let comparison = await ComparisonRunner(rounds: 2).run(.checkout, with: [InMemorySubject()])
        let story = try #require(comparison.vendors.first)
        func outcome(_ title: String) throws -> StepOutcome {
            let step = try #require(comparison.steps.first { $0.title == title })
            return try #require(story.outcome(of: step.number))
        }
        let color = try outcome("Which colour has the checkout?")
        #expect(color.evaluation?.value == "green")
        #expect(color.evaluation?.reason == "SPLIT")
        #expect(color.events.accepted == 1, "reading it is the exposure")
        #expect(color.latency == nil, "two rounds are too few")
        #expect(try outcome("She sees the new checkout").assignment?.variation == "Green button")
        #expect(try outcome("She sees the new checkout").events.accepted == 0, "it was exposed by reading already")
        #expect(try outcome("What waits is delivered").events.pending == 0)
        #expect(try outcome("Delivery while it fails").events.pending == 1)
        #expect(try outcome("Delivery after it recovered").events.pending == 0)
        #expect(try outcome("Decisions are asked for in vain").kind == .failed)
        #expect(try outcome("The colour, while it is away").evaluation?.value == "green")
        #expect(try outcome("Delivery in vain").events.pending == 1)
        #expect(try outcome("Delivery after it came back").events.pending == 0)
        #expect(try outcome("She looks again").error == "CONSENT_DENIED")
        #expect(story.exposures == 1)
        #expect(comparison.rounds == 2)
    }

    @Test("a note about Sigma's unproven buckets appears wherever its variations are compared, and only there")
    func unprovenBuckets() async throws {
        let comparison = await ComparisonRunner().run(.checkout, with: [SigmaSubject(), InMemorySubject()])
        let caveat = "parity of the buckets with production is unproven"
        let sigma = try #require(comparison.story(of: "sigma"))
        let told = sigma.outcomes.filter { $0.sentence.contains(caveat) }
        let decided = sigma.outcomes.filter { $0.evaluation?.reason == "SPLIT" || $0.assignment != nil }
        #expect(told.map(\.step) == decided.map(\.step) && !told.isEmpty)
        let other = try #require(comparison.vendors.last)
        #expect(!other.outcomes.contains { $0.sentence.contains(caveat) })
        let swap = try #require(comparison.swap(from: other.name, to: "sigma"))
        #expect(swap.steps.contains { $0.after.contains(caveat) })
    }

    @Test("the time to notice the kill switch is measured in the story's time")
    func noticesTheKillSwitch() async {
        let comparison = await ComparisonRunner().run(.killSwitch, with: [InMemorySubject()])
        #expect(comparison.vendors.first?.killSwitchSeconds == 3600)
        let other = await ComparisonRunner().run(.login, with: [InMemorySubject()])
        #expect(other.vendors.first?.killSwitchSeconds == nil)
    }

    @Test("withdrawn consent, absence and signing in leave findings")
    func findings() async throws {
        func findings(_ scenario: Scenario) async throws -> Findings {
            try #require(await ComparisonRunner().run(scenario, with: [InMemorySubject()]).vendors.first).findings
        }
        #expect(
            try await findings(.checkout)
                == Findings(
                    offline: .init(readings: 1, answered: 1, reasons: ["STALE"], accepted: 1, waiting: 0),
                    withdrawal: .init(purged: 1, waiting: 0, flags: 6, flagsKept: 6, isVendorTold: true, arrivals: 0)
                )
        )
        #expect(
            try await findings(.offlineStart).offline
                == .init(readings: 2, answered: 1, reasons: ["CACHED"], accepted: 3, waiting: 0)
        )
        #expect(
            try await findings(.login)
                == Findings(
                    linking: .init(
                        flags: 6,
                        flagsKept: 6,
                        places: 1,
                        placesKept: 1,
                        waiting: 1,
                        waitingKept: 1,
                        isVendorTold: true,
                        requests: 2
                    )
                )
        )
        #expect(try await findings(.killSwitch) == Findings())
    }

    @Test("a vendor that is unreachable during sign-in is reported as such, without unproven findings")
    func failedLinking() async throws {
        var scenario = Scenario.login
        let place = try #require(scenario.steps.firstIndex { $0.action.key == "logIn" })
        scenario.steps.insert(.init(nil, .network(isReachable: false)), at: place)
        let story = try #require(await ComparisonRunner().run(scenario, with: [InMemorySubject()]).vendors.first)
        #expect(story.findings.linking?.failure == "failed: TRANSPORT")
        #expect(story.findings.linking?.isVendorTold == false)
    }

    @Test("two runs without timings are identical")
    func isDeterministic() async {
        let runner = ComparisonRunner(pace: .together)
        let one = await runner.run(.checkout, with: [InMemorySubject()])
        let other = await runner.run(.checkout, with: [InMemorySubject()])
        #expect(one.withoutTimings == other.withoutTimings)
    }

    @Test("a vendor that hangs, fails or can't be opened ends only its own story, which says where")
    func survivesBadSubjects() async throws {
        // Long enough for the working vendor, however busy the machine is.
        let runner = ComparisonRunner(pace: .together, stepLimit: .seconds(20))
        let subjects: [any ConformanceSubject] = [
            Wayward(name: "hangs", way: .hang), InMemorySubject(), Wayward(name: "breaks", way: .fail),
            Wayward(name: "shut", way: .refuse), Wayward(name: "never starts", way: .hangAtStart),
        ]
        let comparison = await runner.run(.killSwitch, with: subjects)
        #expect(comparison.vendors.map(\.name) == ["hangs", "in-memory", "breaks", "shut", "never starts"])
        #expect(comparison.vendors[0].failure?.contains("step 4 (The kill switch is turned on)") == true)
        #expect(comparison.vendors[0].outcomes.map(\.kind) == [.done, .done, .done, .broken])
        #expect(comparison.vendors[1].failure == nil)
        #expect(comparison.vendors[1].outcomes.count == comparison.steps.count)
        #expect(comparison.vendors[2].failure?.contains("the console burns") == true)
        #expect(comparison.vendors[3].failure?.contains("it can't be opened") == true)
        #expect(comparison.vendors[4].failure?.contains("its provider doesn't start") == true)
        #expect(comparison.vendors[4].outcomes == [])
    }

    @Test("a trial whose mock doesn't work is a failure that the story names")
    func failedTrial() async throws {
        let subject = OpenedOnce()
        let story = try #require(await ComparisonRunner().run(.killSwitch, with: [subject]).vendors.first)
        #expect(story.failure == "the trial of what reaches the wire: \(SubjectError.broken("it is shut"))")
        #expect(story.outcomes.count == Scenario.killSwitch.steps.count)
    }

    @Test("progress names the vendor, the round and every step")
    func tellsProgress() async {
        let seen = Recorder()
        _ = await ComparisonRunner(rounds: 2).run(.killSwitch, with: [InMemorySubject()]) { seen.note($0) }
        let all = seen.all
        #expect(all.count == 2 * Scenario.killSwitch.steps.count)
        #expect(all.first?.vendor == "in-memory")
        #expect(all.prefix(3).map(\.step) == [1, 2, 3])
        #expect(all.first?.steps == Scenario.killSwitch.steps.count)
        #expect(all.last?.round == 2)
    }
}
