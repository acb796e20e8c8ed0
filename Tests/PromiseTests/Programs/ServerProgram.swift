import Experimentation
import Foundation

struct Shop: Sendable {
    let client: ExperimentationClient

    init(_ provider: any ExperimentationProvider, store: ClientStore) async throws {
        client = try await ExperimentationClient(
            provider: provider,
            store: store,
            options: ClientOptions(
                decisionCacheBytes: 256_000_000,
                backPressure: .wait(above: 200_000, atMost: .seconds(2))
            ),
            environment: ClientEnvironment(log: .printing(.warning))
        )
    }

    /// Answers one request: no session, nothing to clean up.
    func answer(userID: String, plan: String?, order: Order?) async -> String {
        let user = User(id: userID, attributes: Attributes(of: ["plan": plan]), consent: .granted)
        if let order, client.supports(.purchase(order)) {
            do {
                try await client.track(.purchase(order), for: user)
            } catch {
                return "come back later: \(error.code)"
            }
        }
        // Use the new decisions; if the request failed, fall back to what the client still has, or the default.
        let decided = try? await client.decisions(for: user)
        return decided?.string("btnColor", default: "red") ?? client.string("btnColor", default: "red", for: user)
    }
}
