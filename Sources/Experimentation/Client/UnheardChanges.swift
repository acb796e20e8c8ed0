import Synchronization

/// Remembers when the provider stopped announcing changes: an answer requested before that may already be out of date.
final class UnheardChanges: Sendable {
    private let notices = Mutex<(count: Int, last: ExperimentationError?)>((0, nil))

    /// The number of notices so far; a request remembers it.
    var count: Int { notices.withLock { $0.count } }

    /// Records a notice.
    func note(_ error: ExperimentationError) {
        notices.withLock { $0 = ($0.count + 1, error) }
    }

    /// Returns the last notice, if it came after a request.
    ///
    /// - Parameter count: The number of notices when the request began.
    /// - Returns: The error of the notice; `nil` if none came since.
    func notice(after count: Int) -> ExperimentationError? {
        notices.withLock { $0.count > count ? $0.last : nil }
    }
}
