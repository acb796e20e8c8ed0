import Synchronization

/// How long the database waits for another process: not at all on a caller's thread, else up to a limit.
final class Patience: Sendable {
    /// Whether a caller's own thread would wait.
    let isShort = Atomic(false)
    private let milliseconds: Int

    /// Creates patience with a limit.
    init(_ limit: Duration) {
        let parts = limit.components
        milliseconds =
            Int(clamping: max(0, parts.seconds)) > 3_600
            ? 3_600_000 : Int(max(0, parts.seconds)) * 1_000 + Int(max(0, parts.attoseconds) / 1_000_000_000_000_000)
    }

    /// Waits briefly, if there is patience left.
    ///
    /// - Parameter tries: How often this was called before for the same lock.
    /// - Returns: Whether to try again.
    func wait(tries: Int) -> Bool {
        // Two milliseconds at a time: short enough not to starve beside a busy writer.
        if isShort.load(ordering: .relaxed) || tries * 2 >= milliseconds { return false }
        usleepMilliseconds(2)
        return true
    }
}
