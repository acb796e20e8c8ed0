import Synchronization

/// Counts the calls to a stage that haven't been answered.
final class CallsUnderWay: Sendable {
    private let count = Mutex(0)

    func begin() { count.withLock { $0 += 1 } }
    func end() { count.withLock { $0 -= 1 } }

    /// Waits in real time until no call is under way, at most for the limit: a call may hang on purpose.
    func waitForEnd(within limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        while count.withLock({ $0 > 0 }), ContinuousClock.now < deadline {
            do { try await Task.sleep(for: .milliseconds(1), clock: .continuous) } catch { return }
        }
    }
}
