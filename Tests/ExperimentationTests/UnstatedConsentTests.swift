import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Consent that wasn't stated")
struct UnstatedConsentTests {
    @Test("consent that a user hasn't stated holds no event back, and grants nothing else: a denial remains in force")
    func unstated() async throws {
        let provider = InMemoryProvider(
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "button"),
                    arms: [.init(Variation(id: "blue"), weight: 100, flags: ["button": "blue"])]
                )
            ],
            freshness: Freshness(lifetime: .seconds(600)),
            batching: BatchPolicy(count: 1_000, interval: .seconds(3_600))
        )
        let options = ClientOptions(exposurePolicy: .manual)
        let client = try await ExperimentationClient(provider: provider, options: options)
        let (ada, bob) = (User(id: "ada", consent: .granted), User(id: "bob", consent: .granted))
        try await client.refresh()
        try await client.track(.custom("held"), for: User(id: "ada"), id: "held")
        try await client.track(.custom("sent"), for: ada, id: "sent", isConsentStated: false)
        #expect(try await client.outboxStatus().deliverable == 1)
        #expect(try await client.waitingEvents().map(\.envelope.id) == ["held", "sent"])
        for user in [ada, bob] { try await client.setConsent(.denied, for: user) }
        try #require(client.decisionAtOnce(of: "button", for: ada)).expose(isConsentStated: false)
        try await client.decisions(for: bob).expose("button", isConsentStated: false)
        for user in [ada, bob] {
            await #expect { try await client.track(.custom("no"), for: user, isConsentStated: false) } throws: {
                ($0 as? ExperimentationError)?.code == .consentDenied
            }
        }
        // A choice stated by the user ends the denial, so these events are accepted.
        try await client.track(.custom("yes"), for: ada)
        try await client.track(.custom("after"), for: ada, isConsentStated: false)
        await client.shutdown(within: .zero)
    }
}
