import Experimentation
import Synchronization

/// Something that happens once, in the middle of an operation of a store.
final class Interruption: Sendable {
    typealias Work = @Sendable () async throws(ExperimentationError) -> Void

    private struct State {
        var work: Work?
        var hasHappened = false
    }

    private let state = Mutex(State())

    var hasHappened: Bool { state.withLock { $0.hasHappened } }

    /// Lets it happen in the next operation.
    func arm(_ work: @escaping Work) { state.withLock { $0.work = work } }

    func happen() async throws(ExperimentationError) {
        let work = state.withLock { state in
            defer { state.work = nil }
            state.hasHappened = state.hasHappened || state.work != nil
            return state.work
        }
        try await work?()
    }
}
