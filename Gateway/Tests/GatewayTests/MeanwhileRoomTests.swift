import Experimentation
import ExperimentationTesting
import Testing

@testable import GatewayServer

@Suite("The room of the file for what is accepted while the database is away")
struct MeanwhileRoomTests {
    @Test("an exposure that the file's state has no room for is counted as dropped, and taken once there is some")
    func fullState() async throws {
        let state = FailingState(baseState: InMemoryStateStore(), claims: Shared(1))
        let meanwhile = try await Meanwhile(
            scope: "s",
            bytes: 1_000_000,
            environment: ClientEnvironment(),
            database: DatabaseSight { true }
        ) { _ in ClientStore(outbox: InMemoryOutboxStore(), state: state) }
        let exposure = Exposure(
            assignment: Assignment(experiment: Experiment(id: "button"), variation: Variation(id: "blue"))
        )
        let ada = User(id: "ada", consent: .granted)
        await meanwhile.take(exposure, of: ada, isConsentStated: true)
        #expect((meanwhile.count, meanwhile.dropped) == (0, 1))
        await meanwhile.take(exposure, of: ada, isConsentStated: true)
        #expect((meanwhile.count, meanwhile.dropped) == (1, 1))
        await meanwhile.close()
    }
}
