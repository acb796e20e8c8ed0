@preconcurrency import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The polite requests to end: SIGTERM and SIGINT.
final class Signals: Sendable {
    private let gate = Gate()
    private let sources: [any DispatchSourceSignal]

    /// Takes both signals over from their default, which is to end at once.
    init() {
        let gate = gate
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { gate.open() }
            source.resume()
            return source
        }
    }

    /// Whether one has come.
    var hasCome: Bool { gate.isOpen }

    /// Waits for one, or for the task's cancellation.
    func wait() async { await gate.wait() }
}
