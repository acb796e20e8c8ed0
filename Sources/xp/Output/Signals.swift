@preconcurrency import Dispatch
import Experimentation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The polite requests to end: SIGTERM and SIGINT.
final class Signals: Sendable {
    // Five seconds are promised; the rest is for ending itself, on a busy machine.
    private static let grace = DispatchTimeInterval.seconds(4)
    private static let timeToSpeak = DispatchTimeInterval.milliseconds(300)

    private let gate = AsyncGate()
    private let sources: [any DispatchSourceSignal]

    /// Takes both signals over from their default, which is to end at once.
    ///
    /// Four seconds after the first of them the process ends, whatever it waits for then: a store that somebody keeps
    /// locked, a server, or a reader of its output.
    ///
    /// - Parameter lastWord: What to say in that case; without it the process ends silently, with status 0.
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

    /// Not by tasks: all their threads may be what hangs.
    private static func endLater(_ lastWord: @escaping @Sendable () -> Failure?) {
        DispatchQueue.global().asyncAfter(deadline: .now() + grace) {
            guard let failure = lastWord() else { exit(0) }
            // The output may have no reader.
            DispatchQueue.global().asyncAfter(deadline: .now() + timeToSpeak) { _exit(failure.status.rawValue) }
            failure.report()
        }
    }

    /// Whether one has come.
    var hasCome: Bool { gate.isOpen }

    /// Waits for one, or for the task's cancellation.
    func wait() async { await gate.wait() }
}
