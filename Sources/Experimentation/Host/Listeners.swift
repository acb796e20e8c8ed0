import Synchronization

/// The streams that are told what happens, each in order.
final class Listeners<Element: Sendable>: Sendable {
    typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var continuations: [UInt64: Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())
    /// What to tell to which streams; `nil` at their end.
    private let announcements = Announcements<(element: Element?, streams: [Continuation])>()

    /// Creates none.
    init() {}

    deinit { finish() }

    /// Whether there are no streams.
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
            if !state.continuations.isEmpty { announcements.add((element, Array(state.continuations.values))) }
        }
    }

    /// Tells the streams what was added, unless another thread is doing so.
    func tell() {
        announcements.make { element, streams in
            for stream in streams {
                if let element { stream.yield(element) } else { stream.finish() }
            }
        }
    }

    /// Ends all streams, once they have been told everything.
    func finish() {
        state.withLock { state in
            announcements.add((nil, Array(state.continuations.values)))
            state.continuations = [:]
        }
        tell()
    }
}
