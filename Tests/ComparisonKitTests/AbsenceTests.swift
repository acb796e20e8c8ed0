import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@testable import ComparisonKit

@Suite("What the story says about absence and signing in")
struct AbsenceTests {
    private func story(_ actions: [Scenario.Action], with subject: any ConformanceSubject) async throws -> VendorStory {
        let steps = actions.map { Scenario.Step(nil, $0) }
        let scenario = Scenario(name: "away", title: "Away", world: .shop, steps: steps)
        return try #require(await ComparisonRunner().run(scenario, with: [subject]).vendors.first)
    }

    private static let search: Scenario.Action = .track([.custom("search")], times: 1)

    @Test(
        "an event that gets too old while the vendor is away doesn't count as delivered later",
        arguments: [
            (FlagshipSubject() as any ConformanceSubject, "1 event kept, 0 delivered later, 1 dropped"),
            (EvergageSubject(), "1 event kept, 1 delivered later"),
            (EngageSubject(), "1 event kept, 1 delivered later"),
        ]
    )
    func expired(subject: any ConformanceSubject, sentence: String) async throws {
        let story = try await story(
            [
                .arrive(userID: "ada"), .refresh, .network(isReachable: false), Self.search, .wait(seconds: 18_000),
                .network(isReachable: true), .wait(seconds: 120), .flush,
            ],
            with: subject
        )
        #expect(story.failure == nil)
        #expect(story.findings.offline?.sentence == sentence, "\(story.ledger)")
    }

    @Test("an event that is later purged or refused doesn't count as delivered later, nor does one that still waits")
    func removed() async throws {
        let purged = try await story(
            [
                .arrive(userID: "ada"), .refresh, .network(isReachable: false), Self.search, .consent(.denied),
                .network(isReachable: true), .wait(seconds: 120), .flush,
            ],
            with: InMemorySubject()
        )
        // The signal of the denial was kept as well.
        #expect(purged.findings.offline?.sentence == "2 events kept, 1 delivered later, 1 purged")
        let refused = try await story(
            [
                .arrive(userID: "ada"), .refresh, .fault([WorldFault(.status(400), on: .events, times: nil)]),
                .network(isReachable: false), Self.search, .network(isReachable: true), .wait(seconds: 120), .flush,
                .wait(seconds: 3_600), .flush, .wait(seconds: 7_200), .flush,
            ],
            with: InMemorySubject()
        )
        let dropped = refused.ledger.dropped.values.reduce(0, +)
        #expect(dropped == 1)
        #expect(refused.findings.offline?.sentence == "1 event kept, 0 delivered later, 1 dropped")
        let waiting = try await story(
            [.arrive(userID: "ada"), .refresh, .network(isReachable: false), Self.search],
            with: InMemorySubject()
        )
        #expect(waiting.findings.offline?.sentence == "1 event kept, 0 delivered later")
    }

    @Test("an earlier event dropped during the absence isn't subtracted from those accepted during it")
    func earlier() async throws {
        let story = try await story(
            [
                .arrive(userID: "ada"), .refresh, Self.search, .network(isReachable: false), .wait(seconds: 14_000),
                .track([.custom("later")], times: 2), .wait(seconds: 1_000), .network(isReachable: true),
                .wait(seconds: 120), .flush,
            ],
            with: FlagshipSubject()
        )
        #expect(story.ledger.accepted == 3 && story.ledger.delivered == 2)
        #expect(story.findings.offline?.sentence == "2 events kept, 2 delivered later")
    }

    @Test("a waiting event that signing in removes doesn't count as kept, even if another event was accepted meanwhile")
    func removedByLogIn() {
        var observation = Observation()
        let outcome = StepOutcome(step: 1, events: EventCount(accepted: 1, pending: 1, purged: 1))
        let user = User(id: "eve")
        observation.note(.logIn(user), outcome, from: Glimpse(pending: 1), to: Glimpse(pending: 1))
        #expect(observation.findings(received: [], kept: KeptEvents()).linking?.waitingKept == 0)
    }

    @Test(
        "signing in changes consent only if the document names it",
        arguments: [
            (Consent.unknown, Ledger(accepted: 1, delivered: 1)), (.granted, Ledger(accepted: 1, delivered: 1)),
            (.denied, Ledger(accepted: 1, delivered: 1)),
        ]
    )
    func consent(consent: Consent, ledger: Ledger) async throws {
        let story = try await story(
            [.arrive(userID: "ada"), .refresh, .logIn(User(id: "eve", consent: consent)), Self.search, .flush],
            with: InMemorySubject()
        )
        #expect(story.ledger == ledger)
        // Of a user who denies consent only the denial is accepted.
        #expect(story.outcome(of: 4)?.error == (consent == .denied ? "CONSENT_DENIED" : nil))
    }
}
