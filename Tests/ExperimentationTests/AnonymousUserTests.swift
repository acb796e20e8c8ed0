import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("Users without an id are identified by their anonymous id", .timeLimit(.minutes(1)))
struct AnonymousUserTests {
    private let ada = User(id: "", anonymousID: "device-1", consent: .granted)
    private let bob = User(id: "", anonymousID: "device-2", consent: .granted)
    private let store = ClientStore.inMemory()

    private func client(_ arms: [InMemoryExperiment] = []) async throws -> ExperimentationClient {
        try await ExperimentationClient(provider: InMemoryProvider(experiments: arms), store: store)
    }

    @Test(
        "the session's user and events have the anonymous id, whichever way the user is given",
        arguments: [true, false]
    )
    func sessions(isNamedLater: Bool) async throws {
        let client = try await client()
        let session = client.session(for: isNamedLater ? User(id: "ada", consent: .granted) : ada)
        if isNamedLater { session.identify(Identity(id: "", anonymousID: "device-1", isAuthenticated: true)) }
        let expected = Identity(id: "device-1", anonymousID: "device-1")
        #expect(session.user.identity == expected)
        try await session.track(.screenView("home"))
        try await client.track(.screenView("away"), for: ada)
        let waiting = try await client.waitingEvents().map(\.envelope)
        #expect(waiting.map(\.identity) == [expected, expected])
        await client.shutdown(within: .zero)
    }

    @Test("one such user's denial doesn't affect another's events and consent", arguments: [true, false])
    func denial(isOfSession: Bool) async throws {
        let client = try await client()
        for user in [ada, bob] { try await client.track(.screenView("home"), for: user) }
        if isOfSession {
            try await client.session(for: ada).setConsent(.denied)
        } else {
            try await client.setConsent(.denied, for: ada)
        }
        try await client.track(.screenView("away"), for: bob, isConsentStated: false)
        await #expect(throws: ExperimentationError.self) {
            try await client.track(.screenView("away"), for: ada, isConsentStated: false)
        }
        let events = try await client.waitingEvents().map(\.envelope).filter { !$0.event.isConsentSignal }
        #expect(events.map(\.identity.anonymousID) == ["device-2", "device-2"])
        await client.shutdown(within: .zero)
    }

    @Test("one such user's stored assignment isn't another's")
    func assignments() async throws {
        for (user, arms) in [(ada, AssignmentTests.arms(100, 0)), (bob, AssignmentTests.arms(0, 100))] {
            let client = try await client(arms)
            let session = client.session(for: user)
            try await session.refresh()
            #expect(session.string("f", default: "") == (user == ada ? "a" : "b"))
            await client.shutdown(within: .zero)
        }
    }
}
