import Synchronization

/// How long the database waits for another process: not at all on a caller's thread, else up to the limit.
final class Patience: Sendable {
    /// Whether a caller's own thread would wait.
    let isShort = Atomic(false)
    private let milliseconds: Int

    /// Creates patience.
    init(_ limit: Duration) {
        let parts = limit.components
        milliseconds =
            Int(clamping: max(0, parts.seconds)) > 3_600
            ? 3_600_000 : Int(max(0, parts.seconds)) * 1_000 + Int(max(0, parts.attoseconds) / 1_000_000_000_000_000)
    }

    /// Waits a little, if there is patience left.
    ///
    /// - Parameter tries: How often this was asked before, for the same lock.
    /// - Returns: Whether to try again.
    func wait(tries: Int) -> Bool {
        // Two milliseconds a turn: short enough that no one starves beside a busy writer.
        if isShort.load(ordering: .relaxed) || tries * 2 >= milliseconds { return false }
        usleepMilliseconds(2)
        return true
    }
}
