import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Synchronization
import Testing

@testable import SigmaAdapter

@Suite("Callbacks run on the main actor, never within the call")
struct CallbackTests {
    @Test("S64 a callback requested from a background task runs on the main actor")
    func mainActor() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        _ = try await client.text("button")
        let value = await Task.detached {
            await withCheckedContinuation { continuation in
                client.checkFlag(
                    flagName: "button",
                    onSuccess: { (value: String?) in
                        MainActor.assertIsolated()
                        continuation.resume(returning: value)
                    },
                    onError: nil
                )
            }
        }.value
        #expect(value == "red")
    }

    @Test("S64 a callback never runs within the call, even with a warm cache")
    @MainActor
    func afterTheCall() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        _ = try await client.text("button")
        let hasReturned = Mark()
        let cameLater = await withCheckedContinuation { continuation in
            client.checkFlag(
                flagName: "button",
                onSuccess: { (_: String?) in continuation.resume(returning: hasReturned.isSet) },
                onError: nil
            )
            hasReturned.set()
        }
        #expect(cameLater)
    }

    @Test("an error goes to the failure callback")
    func error() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        let text = await withCheckedContinuation { continuation in
            client.checkFlag(
                flagName: "nosuch",
                onSuccess: { (_: Bool?) in continuation.resume(returning: "a value") },
                onError: { continuation.resume(returning: "\($0)") }
            )
        }
        #expect(text == "\(SigmaError.featureFlagNotFound(featureFlag: "nosuch"))")
    }

    @Test("S69 without callbacks nothing breaks, and the configuration is still fetched")
    func discarded() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user())
        let nobody: SigmaClient.SuccessCallback<String?>? = nil
        client.checkFlag(flagName: "button", onSuccess: nobody, onError: nil)
        client.checkFlag(flagName: "nosuch", onSuccess: nobody, onError: nil)
        client.getUserFeatureFlagsDetails(onSuccess: nil, onError: nil)
        client.getAllUserExperiments(onSuccess: nil, onError: nil)
        client.getAllUserExperiments(estimateHoldouts: false, onSuccess: nil, onError: nil)
        client.allUserExperiments(onSuccess: nil, onError: nil)
        client.getUserExperimentsDetails(onSuccess: nil, onError: nil)
        client.getExperiment(name: "closed", onSuccess: nil, onError: nil)
        client.getHoldout(name: "nosuch", onSuccess: nil, onError: nil)
        client.getAllUserHoldouts(onSuccess: nil, onError: nil)
        client.includeForce(experimentName: "nosuch", onSuccess: nil, onError: nil)
        client.excludeForce(experimentName: "nosuch", onSuccess: nil, onError: nil)
        client.excludeForceAll(onSuccess: nil, onError: nil)
        try await stage.transport.waitForRequests(1)
        stage.time.advance(by: .seconds(5))
        #expect(try await client.text("button") == "red")
        #expect(stage.transport.requests.count == 1)
    }

    @Test("every call has its callbacks")
    func everyCall() async throws {
        let stage = try Stage()
        let client = try stage.client(stage.user("held"))
        let flags = await withCheckedContinuation { continuation in
            client.getUserFeatureFlagsDetails(onSuccess: { continuation.resume(returning: $0.count) }, onError: nil)
        }
        #expect(flags == 4)
        let all = await withCheckedContinuation { continuation in
            client.getAllUserExperiments(onSuccess: { continuation.resume(returning: $0) }, onError: nil)
        }
        #expect(all == "hold_q1.0")
        let objects = await withCheckedContinuation { continuation in
            client.allUserExperiments(onSuccess: { continuation.resume(returning: $0.map(\.name)) }, onError: nil)
        }
        #expect(objects == ["hold_q1"])
        let details = await withCheckedContinuation { continuation in
            client.getUserExperimentsDetails(onSuccess: { continuation.resume(returning: $0.count) }, onError: nil)
        }
        #expect(details == 1)
        let holdout = await withCheckedContinuation { continuation in
            client.getHoldout(name: "hold_q1", onSuccess: { continuation.resume(returning: $0) }, onError: nil)
        }
        #expect(holdout)
        let holdouts = await withCheckedContinuation { continuation in
            client.getAllUserHoldouts(onSuccess: { continuation.resume(returning: $0) }, onError: nil)
        }
        #expect(holdouts == "hold_q1.0")
        await withCheckedContinuation { continuation in
            client.includeForce(
                experimentName: "closed",
                groupIndex: 1,
                onSuccess: { continuation.resume() },
                onError: nil
            )
        }
        let index = await withCheckedContinuation { continuation in
            client.getExperiment(
                name: "closed",
                onSuccess: { continuation.resume(returning: $0?.groupIndex) },
                onError: nil
            )
        }
        #expect(index == 1)
        await withCheckedContinuation { continuation in
            client.excludeForce(experimentName: "closed", onSuccess: { continuation.resume() }, onError: nil)
        }
        let failed = await withCheckedContinuation { continuation in
            client.excludeForceAll(
                onSuccess: { continuation.resume(returning: "done") },
                onError: { continuation.resume(returning: "\($0)") }
            )
        }
        #expect(failed == "\(SigmaError.noForceIncludedExperiments)")
    }

    private final class Mark: Sendable {
        private let state = Mutex(false)
        var isSet: Bool { state.withLock { $0 } }
        func set() { state.withLock { $0 = true } }
    }
}
