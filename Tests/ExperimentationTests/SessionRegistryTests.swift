import ExperimentationTesting
import Testing

@testable import Experimentation

@Suite("The sessions in use")
struct SessionRegistryTests {
    @Test("a session may end while another one begins and the ended ones are removed", .timeLimit(.minutes(5)))
    func endingMeanwhile() async throws {
        let client = try await ScriptedVendor().client()
        // With one more, every beginning session removes the ended ones.
        let sessions = (0..<1_023).map { client.session(for: User(id: "\($0)")) }
        for round in 0..<1_000 {
            let ending = Shared<UserSession?>(client.session(for: User(id: "ending")))
            let begun = Task { client.core.sessions.add(sessions[0]) }
            for _ in 0..<(round % 50) { _ = ending.value?.id.count }
            ending.value = nil
            await begun.value
        }
        #expect(client.core.sessions.all.count == sessions.count)
        await client.shutdown(within: .zero)
    }
}
