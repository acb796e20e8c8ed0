@preconcurrency import Dispatch
import Experimentation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// SIGTERM and SIGINT.
final class Signals: Sendable {
    // The documented limit is five seconds; the rest is for exiting on a busy machine.
    private static let grace = DispatchTimeInterval.seconds(4)
    private static let timeToSpeak = DispatchTimeInterval.milliseconds(300)

    private let gate = AsyncGate()
    private let sources: [any DispatchSourceSignal]

    /// Handles both signals in place of their default action.
    ///
    /// Four seconds after the first one the process exits, even if it waits for a locked store, a server, or a reader
    /// of its output.
    ///
    /// - Parameter lastWord: The failure to report in that case; without one, the process exits silently with status 0.
    init(lastWord: @escaping @Sendable () -> Failure? = { nil }) {
        let gate = gate
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                if gate.isOpen { return }
                gate.open()
                Self.endLater(lastWord)
            }
            source.resume()
            return source
        }
    }

    /// Not a task, because all threads of the pool may be blocked.
    private static func endLater(_ lastWord: @escaping @Sendable () -> Failure?) {
        DispatchQueue.global().asyncAfter(deadline: .now() + grace) {
            guard let failure = lastWord() else { exit(0) }
            // Reporting may block, if nothing reads the output.
            DispatchQueue.global().asyncAfter(deadline: .now() + timeToSpeak) { _exit(failure.status.rawValue) }
            failure.report()
        }
    }

    /// Whether a signal has arrived.
    var hasCome: Bool { gate.isOpen }

    /// Waits for a signal, or for the task's cancellation.
    func wait() async { await gate.wait() }
}
