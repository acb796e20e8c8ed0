import Experimentation
import HTTPTypes
import Synchronization

/// Announces possible flag changes to the clients of one tenant.
///
/// A stream carries only the fact that something may have changed; clients then evaluate again. Listeners get the
/// number of changes so far, so that a slow client misses none: the latest number covers all before it.
final class ChangeStreams: Sendable {
    /// A client that listens; its closures are called on any thread, and must not wait.
    struct Listener: Sendable {
        /// Called with the number of changes so far, for each heartbeat or change.
        let tell: @Sendable (Int) -> Void
        /// Called when the stream ends.
        let end: @Sendable () -> Void
    }

    /// A listener's place in the list.
    struct Place: Sendable {
        let id: Int
        /// The number of changes before the listener joined.
        let count: Int
    }

    private struct State {
        var streams: [Int: Listener] = [:]
        var next = 0
        var changes = 0
        var isFinished = false
    }

    /// Wraps the closure in a struct, for the reason given in ``DatabaseSight``.
    private struct Source {
        var revision: @Sendable () -> Int64? = { nil }
    }

    private let state = Mutex(State())
    private let source = Mutex(Source())

    /// The number of listening clients.
    var count: Int { state.withLock { $0.streams.count } }

    /// The number of changes so far.
    var changes: Int { state.withLock { $0.changes } }

    /// Announces a change to all clients.
    func announceChange() {
        state.withLock { $0.changes += 1 }
        beat()
    }

    /// Sends all clients a heartbeat, so that no proxy closes an idle stream.
    func beat() {
        let (streams, changes) = state.withLock { (Array($0.streams.values), $0.changes) }
        for stream in streams { stream.tell(changes) }
    }

    /// Ends every stream; clients that are still allowed to can listen again.
    func hangUp() {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.end() }
    }

    /// Ends every stream and rejects new ones.
    func finish() {
        state.withLock { $0.isFinished = true }
        hangUp()
    }

    /// Lets a client listen.
    ///
    /// - Returns: The client's place, for ``leave(_:)``; `nil` if the maximum number of clients are listening, and
    ///   after the end.
    func listen(_ listener: Listener, atMost most: Int = .max) -> Place? {
        state.withLock { state in
            guard !state.isFinished, state.streams.count < most else { return nil }
            let id = state.next
            state.next += 1
            state.streams[id] = listener
            return Place(id: id, count: state.changes)
        }
    }

    /// Removes a client from the listeners, without notifying it.
    func leave(_ id: Int) { state.withLock { _ = $0.streams.removeValue(forKey: id) } }

    /// The answer to a client that can't listen over this connection.
    ///
    /// - Parameter most: The maximum number of streams.
    /// - Returns: 429 if the maximum is reached; otherwise 503, because the connection has to send other answers first,
    ///   the request has a body, or the instance is about to end.
    func refusal(atMost most: Int) -> Answer {
        // The wait is long enough for clients to poll without a stream meanwhile.
        count >= most
            ? .empty(.tooManyRequests, [.retryAfter: "30"])
            : .empty(.serviceUnavailable, [.retryAfter: "1", .connection: "close"])
    }

    /// The fields of the answer.
    static let fields: HTTPFields = [
        .contentType: "text/event-stream", .cacheControl: "no-store",
        // Stops proxies from buffering the answer until its end.
        HTTPField.Name.literal("X-Accel-Buffering"): "no",
    ]

    /// A server-sent event for a client.
    ///
    /// - Parameters:
    ///   - count: The number of changes so far.
    ///   - last: The last number that was sent to the client; `nil` at the beginning, when it needn't evaluate again.
    /// - Returns: The event.
    func text(_ count: Int, after last: Int?) -> String {
        guard let last else { return ": says when to ask again\n\n" }
        guard count > last else { return ":\n\n" }
        // The client sends the tag with its next request, so that an instance that is behind reads the shared rules
        // first.
        let tag = source.withLock { $0 }.revision().map { #","etag":"\"rules.\#($0)\"""# } ?? ""
        return "id: \(count)\nevent: message\ndata: {\"type\":\"refetchEvaluation\"\(tag)}\n\n"
    }

    /// Sets the closure that returns the revision of the rules that instances share; `nil` if they share none.
    func announce(by revision: @escaping @Sendable () -> Int64?) {
        source.withLock { $0 = Source(revision: revision) }
    }
}
