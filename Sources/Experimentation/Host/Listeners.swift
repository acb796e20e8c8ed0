import Synchronization

/// The streams that are told what happens, each in order.
package final class Listeners<Element: Sendable>: Sendable {
    private typealias Continuation = AsyncStream<Element>.Continuation

    private struct State {
        var continuations: [UInt64: Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())
    /// What to tell to which streams; `nil` at their end.
    private let announcements = Announcements<(element: Element?, streams: [Continuation])>()

    /// Creates a list without streams.
    package init() {}

    deinit { finish() }

    /// How many streams there are.
    package var count: Int { state.withLock { $0.continuations.count } }

    /// Whether there are no streams.
    var isEmpty: Bool { count == 0 }

    /// Returns a stream of what is added from now on, after first elements of its own.
    ///
    /// - Parameters:
    ///   - first: The first elements.
    ///   - buffering: What is kept for a consumer that is slow.
    /// - Returns: The stream.
    package func stream(
        beginningWith first: Element...,
        buffering: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: buffering)
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
    package func add(_ element: Element) {
        state.withLock { state in
            if !state.continuations.isEmpty { announcements.add((element, Array(state.continuations.values))) }
        }
    }

    /// Tells the streams what was added, unless another thread is doing so.
    package func tell() {
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
