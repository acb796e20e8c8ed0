import Experimentation
import ExperimentationTesting
import Testing

@Suite("Why events wait", .timeLimit(.minutes(10)))
struct OutageReasonTests {
    static let answers: [(answer: ScriptedTransport.Answer, reason: String)] = [
        (.failure(ExperimentationError(.transport, "gone")), "can't be reached"),
        (.failure(ExperimentationError(.timeout, "late")), "no answer in time"),
        (.status(429), "asked for patience"), (.status(503), "answered 503"), (.status(302), "answered 302"),
    ]

    @Test(
        "every vendor that accepts events distinguishes unreachable, slow, busy and broken",
        arguments: Vendor.tracking
    )
    func reasons(_ vendor: Vendor) async throws {
        for (answer, reason) in Self.answers {
            let client = try await ExperimentationClient(
                provider: vendor.provider(SwitchedTransport { _ in answer }),
                environment: ClientEnvironment(time: ManualTime(), jitter: { 0.5 })
            )
            try await client.track(.custom("search"), for: User(id: "ada", consent: .granted))
            try await client.flush(retrying: false)
            #expect(try await client.outboxStatus().failures == [reason: 1], "\(vendor)")
            await client.shutdown(within: .zero)
        }
    }
}
