import Synchronization

/// The streams that are told what happens, each in order.
///
/// No lock is held while a stream is told something: the runtime then asks for the lock of the listening task, and
/// holds that lock itself while it runs what a cancellation leads to.
final class Listeners<Element: Sendable>: Sendable {
    typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var continuations: [UInt64: Continuation] = [:]
        var nextID: UInt64 = 0
        /// What the streams haven't been told yet, or `nil` at their end, in order, and which ones are told.
        var untold: [(element: Element?, to: [Continuation])] = []
        var isTelling = false
    }

    private let state = Mutex(State())

    /// Creates none.
    init() {}

    deinit { finish() }

    /// Whether nobody listens.
    var isEmpty: Bool { state.withLock { $0.continuations.isEmpty } }

    /// Returns a stream of what is added from now on, after first elements of its own.
    func stream(beginningWith first: Element...) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
        for element in first { continuation.yield(element) }
        let id = state.withLock { state in
            state.nextID += 1
            state.continuations[state.nextID] = continuation
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.continuations.removeValue(forKey: id) }
        }
        return stream
    }

    /// Adds something to tell to all current streams; ``tell()`` does so.
    func add(_ element: Element) {
        state.withLock { state in
            if !state.continuations.isEmpty { state.untold.append((element, Array(state.continuations.values))) }
        }
    }

    /// Tells the streams what was added, unless another thread is doing so.
    func tell() {
        let isFirst = state.withLock { state in
            defer { state.isTelling = true }
            return !state.isTelling
        }
        guard isFirst else { return }
        while let (element, continuations) = next() {
            for continuation in continuations {
                if let element { continuation.yield(element) } else { continuation.finish() }
            }
        }
    }

    private func next() -> (Element?, [Continuation])? {
        state.withLock { state in
            guard !state.untold.isEmpty else {
                state.isTelling = false
                return nil
            }
            return state.untold.removeFirst()
        }
    }

    /// Ends all streams, once they have been told everything.
    func finish() {
        state.withLock { state in
            state.untold.append((nil, Array(state.continuations.values)))
            state.continuations = [:]
        }
        tell()
    }
}
