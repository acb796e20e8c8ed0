import Experimentation
import Synchronization

/// Where calls of the XML interface wait their turn: in the order in which they came, some at a time.
///
/// Calls made before there was a token go out one after the other once it is there, so that they arrive in order; after
/// the last of them as many at a time as the limit says.
final class EngageCallLine: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiting: [Waiter] = []
        var underWay = 0
        var number: UInt64 = 0
        var isOpen = false
        /// Calls up to this number came before the line was open.
        var backlog: UInt64 = 0
        var cancelled: Set<UInt64> = []
    }

    /// How many calls may wait.
    static let longest = 10_000

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// How many calls wait.
    var waiting: Int { state.withLock(\.waiting.count) }

    /// Waits for one's turn.
    ///
    /// Whoever gets it must ``leave()``.
    func enter() async throws(ExperimentationError) {
        let number = state.withLock { state -> UInt64? in
            guard state.waiting.count < Self.longest else { return nil }
            state.number += 1
            return state.number
        }
        guard let number else { throw ExperimentationError(.tooLarge, "too many calls wait already") }
        let isAdmitted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return true }
                    state.waiting.append(Waiter(number: number, continuation: continuation))
                    return false
                }
                if isCancelled { continuation.resume(returning: false) } else { admit() }
            }
        } onCancel: {
            let waiter: Waiter? = state.withLock { state in
                guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                    // Not in line yet, or already through: the first finds this note, the second removes it.
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiting.remove(at: place)
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelled.remove(number) }
        guard isAdmitted else { throw ExperimentationError(.cancelled, "cancelled while waiting for its turn") }
    }

    /// Gives the turn to the next.
    func leave() {
        state.withLock { $0.underWay -= 1 }
        admit()
    }

    /// Takes note that there is a token: what waits now is the backlog.
    func open() {
        state.withLock { state in
            guard !state.isOpen else { return }
            state.isOpen = true
            state.backlog = state.number
        }
        admit()
    }

    private func admit() {
        let admitted = state.withLock { state -> [Waiter] in
            var admitted: [Waiter] = []
            while let first = state.waiting.first {
                let isPatient = !state.isOpen || first.number <= state.backlog
                guard state.underWay < (isPatient ? 1 : limit) else { break }
                state.underWay += 1
                admitted.append(state.waiting.removeFirst())
            }
            return admitted
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
    }
}
