import Experimentation
import Synchronization

/// Notifies a client when the shared rules change: passes on the vendor's own notices, and reports what other machines
/// published.
final class SharedChanges: ChangeSource {
    private struct State {
        var rules: SharedRules?
        var listeners: [AsyncStream<ChangeNotice>.Continuation] = []
        var last: DatabaseWatch.Sight?
    }

    private let own: (any ChangeSource)?
    private let state = Mutex(State())

    init(_ own: (any ChangeSource)?) { self.own = own }

    /// The rules to request again after a change.
    var rules: SharedRules? {
        get { state.withLock { $0.rules } }
        set { state.withLock { $0.rules = newValue } }
    }

    /// Takes the result of the watch's check, each second.
    ///
    /// A database that goes away or returns is a change as well, because rules that can't be confirmed are stale. A new
    /// revision is reported until it has been read, because a request may have failed, or may already have been under
    /// way.
    func see(_ sight: DatabaseWatch.Sight) {
        let listeners = state.withLock { state in
            defer { state.last = sight }
            switch sight {
            case .away: return state.last == .away ? [] : state.listeners
            case .revision(let revision):
                if state.last == .away || revision != state.rules?.revision { return state.listeners }
                return []
            }
        }
        for listener in listeners { listener.yield(.changed) }
    }

    func notices() -> AsyncStream<ChangeNotice> {
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeNotice.self, bufferingPolicy: .bufferingNewest(4))
        state.withLock { $0.listeners.append(continuation) }
        guard let notices = own?.notices() else { return stream }
        let following = Task {
            for await notice in notices {
                if notice == .changed { self.rules?.expire() }
                continuation.yield(notice)
            }
        }
        continuation.onTermination = { _ in following.cancel() }
        return stream
    }

    func setApplicationState(_ applicationState: ApplicationState) { own?.setApplicationState(applicationState) }
}
