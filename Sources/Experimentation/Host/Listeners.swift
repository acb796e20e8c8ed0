import Synchronization

/// The streams that are told what happens, each in order.
///
/// When a stream's task is cancelled, its end is announced while the runtime holds that task's lock; whoever tells the
/// stream something waits for the same lock. So an end must not wait for a lock that is held while streams are told: it
/// is only noted, and the stream is removed by the next call.
final class Listeners<Element: Sendable>: Sendable {
    private struct State {
        var continuations: [UInt64: AsyncStream<Element>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())
    private let ended = Mutex<[UInt64]>([])

    /// Creates none.
    init() {}

    deinit { finish() }

    /// Whether nobody listens.
    var isEmpty: Bool { withCurrent { $0.continuations.isEmpty } }

    /// Returns a stream of what is told from now on, after first elements of its own.
    func stream(beginningWith first: Element...) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        for element in first { continuation.yield(element) }
        withCurrent { state in
            let id = state.nextID
            state.nextID += 1
            state.continuations[id] = continuation
            continuation.onTermination = { [weak self] _ in self?.ended.withLock { $0.append(id) } }
        }
        return stream
    }

    /// Tells all streams something.
    func tell(_ element: Element) {
        withCurrent { state in
            for continuation in state.continuations.values { continuation.yield(element) }
        }
    }

    /// Ends all streams.
    func finish() {
        let continuations = withCurrent { state in
            defer { state.continuations = [:] }
            return state.continuations.values
        }
        for continuation in continuations { continuation.finish() }
    }

    /// Accesses the streams that haven't ended.
    private func withCurrent<Value>(_ body: (inout State) -> sending Value) -> sending Value {
        state.withLock { state in
            let over = ended.withLock { ended in
                defer { ended = [] }
                return ended
            }
            for id in over { state.continuations[id] = nil }
            return body(&state)
        }
    }
}
