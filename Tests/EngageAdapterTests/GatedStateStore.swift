import Experimentation
import ExperimentationTesting

/// A store whose writes wait for a gate.
struct GatedStateStore: StateStoreDecorator {
    let baseState: any StateStore = InMemoryStateStore()
    let gate = AsyncGate()

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        await gate.wait()
        try await baseState.setValue(value, for: key)
    }
}
