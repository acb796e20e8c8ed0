import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("The suite judges a subject by its declarations")
struct HonestyTests {
    // No subject here needs as long as this, however busy the machine is.
    private let runner = ConformanceRunner(limit: .seconds(120))
    /// For subjects that hang; the other subjects need a moment.
    private let impatient = ConformanceRunner(limit: .seconds(10), width: 2, patience: 3)

    private func conformanceCase(_ name: String) throws -> ConformanceCase {
        try #require(ConformanceCase.all.first { $0.name == name })
    }

    private func outcome(of name: String, _ bend: BentSubject.Bend) async throws -> Outcome {
        await runner.run(try conformanceCase(name), against: BentSubject(bend: bend)).outcome
    }

    @Test(
        "a capability that exists but isn't declared is found",
        arguments: [
            (Capability.objectFlags, "evaluation/objects"), (.targeting, "snapshots/users-are-kept-apart"),
            (.overrides, "overrides/include"), (.holdouts, "experiments/holdout-is-visible"),
            (.killSwitch, "kill-switch/reaches-the-next-read"), (.eventIDs, "delivery/repetition-has-the-same-id"),
            (.batching, "delivery/several-in-one-request"), (.consentSignal, "consent/signal-when-withdrawn"),
            (.stickyAssignments, "experiments/sticky"), (.campaigns, "campaigns/answer-an-event"),
            (.flagMetadata, "evaluation/metadata"), (.localEvaluation, "evaluation/decided-here"),
            (.commerce, "events/commerce"), (.dateTargeting, "targeting/before-and-after"),
            (.versionTargeting, "targeting/versions"), (.layers, "experiments/one-of-a-layer"),
        ]
    )
    func undeclared(_ capability: Capability, _ name: String) async throws {
        var bend = BentSubject.Bend()
        bend.capabilities.remove(capability)
        #expect(try await outcome(of: name, bend) == .undeclared(capability))
    }

    @Test("a capability that is neither declared nor present is unsupported")
    func unsupported() async throws {
        var bend = BentSubject.Bend.knowing { context in
            var context = context
            context.overrides = []
            return context
        }
        bend.capabilities.remove(.overrides)
        bend.providerCapabilities = bend.capabilities
        let outcome = try await outcome(of: "overrides/include", bend)
        #expect(outcome == .unsupported("bent doesn't declare \"overrides\""))
        #expect(!outcome.isFailure)
    }

    @Test("a subject that declares other capabilities than its provider is detected")
    func lies() async throws {
        var bend = BentSubject.Bend()
        bend.providerCapabilities = [.flags]
        #expect(try await outcome(of: "evaluation/declared-capabilities", bend).word == "failed")
    }

    @Test("a flag that is lost with an announced change doesn't count as the change")
    func lostWithAChange() async throws {
        #expect(try await outcome(of: "changes/pushed", .init(tellsOfChanges: true)) == .passed)
        var losing = BentSubject.Bend.deciding { decisions, _ in
            decisions["welcome"]?.value == "Hello!" ? decisions : decisions.keeping { $0 != "welcome" }
        }
        losing.tellsOfChanges = true
        let failures = try await outcome(of: "changes/pushed", losing).failures
        #expect(failures.first?.message.hasPrefix("the change is read") == true)
    }

    @Test("a client that is notified of a change may read it before it is refreshed")
    func readBeforeRefresh() async throws {
        let isAsked = AsyncGate()
        var eager = BentSubject.Bend.deciding { decisions, _ in
            if decisions["welcome"]?.value == "Good day!" { isAsked.open() }
            return decisions
        }
        eager.tellsOfChanges = true
        eager.afterChange = {
            await isAsked.wait()
            for _ in 0..<200 { await Task.yield() }
        }
        #expect(try await outcome(of: "snapshots/changed-value", eager) == .passed)
    }

    @Test(
        "a subject that accepts one type of event is tested with that type",
        arguments: ConformanceCase.examples.map(\.type)
    )
    func oneType(_ type: String) async throws {
        #expect(try await outcome(of: "delivery/in-order", .taking([type])) == .passed)
        let losing = BentSubject.Bend.taking([type]) { _, batch in DeliveryReport(batch.map { _ in .delivered }) }
        for name in ["delivery/in-order", "outages/not-delivered-by-a-500", "consent/one-users-own"] {
            #expect(try await outcome(of: name, losing).word == "failed", "\(name)")
        }
    }

    @Test("a subject that accepts only indistinguishable events can't show that it tracks any")
    func noMarks() async throws {
        var bend = BentSubject.Bend.taking(["installed"])
        bend.wireFields.remove(.attributes)
        let outcome = try await outcome(of: "delivery/one-event", bend)
        #expect(outcome.reason == #"bent declares "tracking" and takes no event that could be told from others"#)
    }

    @Test("decisions with a lifetime of hours become overdue after those hours", arguments: [1, 3, 48])
    func longLived(_ hours: Int) async throws {
        let bend = BentSubject.Bend.rules { BentRules(inner: $0, lifetime: .seconds(hours * 3_600)) }
        #expect(try await outcome(of: "caching/stale-by-choice-is-not-ready", bend) == .passed)
    }

    @Test(
        "a campaign answers an event that the vendor takes, whichever it is",
        arguments: ["custom", "viewItem", "pageView", "addToCart", "installed"]
    )
    func trigger(_ type: String) async throws {
        var bend = BentSubject.Bend.taking([type])
        bend.capabilities.remove(.commerce)
        bend.gaps = { world in
            world.campaigns.filter { $0.trigger != type }.map {
                WorldGap("campaigns/\($0.id)", "no \($0.trigger) is answered")
            }
        }
        for known in ConformanceCase.all where known.matches("campaigns/*") {
            let outcome = try await outcome(of: known.name, bend)
            // An impression is another event, which this vendor doesn't take.
            let refused = known.name == "campaigns/impression-reaches-the-vendor"
            #expect(refused || outcome == .passed, "\(known.name): \(outcome)")
        }
        // The shop has a campaign that answers views, which this case is not about.
        #expect(try await outcome(of: "evaluation/metadata", bend) == .passed)
    }

    @Test("a subject that declares campaigns and can answer no event with one fails")
    func noTrigger() async throws {
        let bend = BentSubject.Bend(gaps: { world in
            world.campaigns.map { WorldGap("campaigns/\($0.id)", "nothing is answered") }
        })
        let reason = #"bent declares "campaigns" and has a gap there: campaigns/spring: nothing is answered"#
        #expect(try await outcome(of: "campaigns/answer-an-event", bend).reason == reason)
        var silent = bend
        silent.capabilities.remove(.campaigns)
        #expect(try await outcome(of: "campaigns/answer-an-event", silent).word == "unsupported")
    }

    @Test("a kill switch can be shown without flags, and metadata without experiments")
    func alone() async throws {
        var events = BentSubject.Bend(provider: { provider, _ in
            BentProvider(provider) { roles, _ in roles.decisions = nil }
        })
        events.capabilities = [.tracking, .killSwitch]
        #expect(try await outcome(of: "kill-switch/in-an-answer-to-events", events) == .passed)
        var flags = BentSubject.Bend.deciding { decisions, _ in
            decisions.map(resolution: { resolution in
                var resolution = resolution
                resolution.metadata = ["owner": "shop"]
                return resolution
            })
        }
        flags.capabilities = [.flags, .flagMetadata]
        #expect(try await outcome(of: "evaluation/metadata-of-a-plain-flag", flags) == .passed)
        flags.capabilities = [.flags]
        #expect(try await outcome(of: "evaluation/metadata-of-a-plain-flag", flags) == .undeclared(.flagMetadata))
        var plain = BentSubject.Bend()
        plain.capabilities = [.flags, .flagMetadata]
        #expect(try await outcome(of: "evaluation/metadata-of-a-plain-flag", plain).word == "failed")
    }

    @Test("a recorded deviation is reported with its reason and doesn't fail the run")
    func deviates() async throws {
        var bend = BentSubject.Bend.deciding { _, _ in .none }
        let record = KnownDeviation("evaluation/*", reason: "the vendor has closed", link: "https://example.com/1")
        bend.knownDeviations = [record]
        let outcome = try await outcome(of: "evaluation/boolean-values", bend)
        #expect(outcome.word == "deviates")
        #expect(outcome.reason == "the vendor has closed")
        #expect(!outcome.failures.isEmpty && !outcome.isFailure)
    }

    @Test("an outdated deviation record fails the run")
    func outdated() async throws {
        let record = KnownDeviation("evaluation/boolean-values", reason: "the vendor has closed")
        let outcome = try await outcome(of: "evaluation/boolean-values", .init(knownDeviations: [record]))
        #expect(outcome == .outdated(record))
        #expect(outcome.isFailure)
    }

    @Test("a subject that hangs while it is opened fails by name, in bounded time", .timeLimit(.minutes(5)))
    func hangsAtOpening() async throws {
        let bend = BentSubject.Bend(open: { _ in
            // Ignores cancellation, as the worst subjects do.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        })
        let hanging = try conformanceCase("evaluation/boolean-values")
        let outcome = await impatient.run(hanging, against: BentSubject(bend: bend)).outcome
        #expect(outcome.failures.first?.message.contains("bent hangs") == true)
    }

    @Test("a subject that hangs in the middle of a case fails in bounded time, and the next case runs")
    func hangsInTheMiddle() async throws {
        let bend = BentSubject.Bend.fetching { _, _ async throws(ExperimentationError) in
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return .unchanged
        }
        let cases = [try conformanceCase("evaluation/boolean-values"), try conformanceCase("evaluation/not-ready")]
        let report = await impatient.run(cases, against: [BentSubject(bend: bend), InMemorySubject()])
        #expect(
            report.subjects.map { $0.results.map(\.outcome.word) } == [["failed", "passed"], ["passed", "passed"]]
        )
    }

    @Test("a subject that hangs repeatedly is abandoned, and all cases of the next one run")
    func givenUp() async throws {
        let bend = BentSubject.Bend(open: { _ in
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        })
        let cases = Array(ConformanceCase.all.prefix(12))
        let report = await impatient.run(cases, against: [BentSubject(bend: bend), InMemorySubject()])
        let messages = report.subjects[0].results.map { $0.outcome.failures.first?.message ?? "" }
        #expect(messages.prefix(3).allSatisfy { $0.hasPrefix("bent hangs") })
        // One more case was running when the third one hung.
        #expect(messages.dropFirst(4).allSatisfy { $0 == "bent hung in 3 cases in a row, so this one wasn't tried" })
        #expect(report.subjects[1].results.allSatisfy { $0.outcome == .passed })
    }

    @Test("a subject that can't be opened fails by name, and the others' results are complete")
    func cannotBeOpened() async throws {
        struct Broken: Error {}
        let bend = BentSubject.Bend(open: { _ in throw Broken() })
        let cases = Array(ConformanceCase.all.prefix(3))
        let report = await runner.run(cases, against: [BentSubject(bend: bend), InMemorySubject()])
        #expect(report.subjects[0].results.allSatisfy { $0.outcome.failures.first?.message.contains("bent") ?? false })
        #expect(report.subjects[1].results.map(\.outcome) == [.passed, .passed, .passed])
        #expect(!report.isSuccess)
    }

    @Test("a case without expectations fails, even where a ledger and secrets are checked after it")
    func emptyCase() async {
        let empty = ConformanceCase("nothing/at-all", promise: 1, "Nothing", world: .empty) { probe in
            _ = try await probe.client()
        }
        let subject = BentSubject(bend: BentSubject.Bend(secrets: ["abcdef"]))
        let failures = await runner.run(empty, against: subject).outcome.failures
        #expect(failures.map(\.message) == ["the case expected nothing"])
    }

    @Test(
        "a stage that claims that a case doesn't apply fails it",
        arguments: [
            (
                "outages/ten-rounds-lose-nothing",
                BentSubject.Bend(inject: { _ in throw CaseDoesNotApply("no such fault") })
            ),
            (
                "delivery/one-event",
                BentSubject.Bend(received: { _ in throw CaseDoesNotApply("it tells nothing") })
            ),
        ]
    )
    func excuse(_ name: String, _ bend: BentSubject.Bend) async throws {
        #expect(try await outcome(of: name, bend).word == "failed")
    }

    @Test("a capability that no case has shown is unproven, even one that cases about compositions require")
    func unproven() {
        let results = ConformanceCase.all.map { known in
            CaseResult(
                name: known.name,
                promise: known.promise,
                summary: known.summary,
                outcome: .unsupported("there is none"),
                duration: .zero,
                story: Story()
            )
        }
        for capability in Capability.all {
            let subject = ConformanceReport.Subject(name: "liar", capabilities: [capability], results: results)
            #expect(subject.unproven == [capability])
        }
    }
}
