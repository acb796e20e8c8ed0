@preconcurrency import Dispatch
import Experimentation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// SIGTERM, SIGINT, and SIGHUP unless it was ignored when the process began, as by `nohup`.
final class Signals: Sendable {
    // The documented limit is five seconds; the rest is for exiting on a busy machine.
    private static let grace = DispatchTimeInterval.seconds(4)
    private static let timeToSpeak = DispatchTimeInterval.milliseconds(300)

    private let gate = AsyncGate()
    private let sources: [any DispatchSourceSignal]

    /// Handles the signals in place of their default action.
    ///
    /// Four seconds after the first one the process exits, even if it waits for a locked store, a server, or a reader
    /// of its output.
    ///
    /// - Parameter lastWord: The failure to report in that case; without one, the process exits silently with status 0.
    init(lastWord: @escaping @Sendable () -> Failure? = { nil }) async {
        let gate = gate
        sources = await Self.handled(by: { _ in
            if gate.isOpen { return }
            gate.open()
            Self.endLater(lastWord)
        })
    }

    /// Handles the signals in place of their default action; once this returns, none is missed.
    fileprivate static func handled(by action: @escaping @Sendable (Int32) -> Void) async -> [any DispatchSourceSignal]
    {
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGTERM, SIGINT] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) {
            let isRegistered = AsyncGate()
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { action(number) }
            source.setRegistrationHandler { isRegistered.open() }
            source.resume()
            await isRegistered.wait()
            #if !os(Linux)
                // Elsewhere, a source watches beside the default action, which would end the process. On Linux, the
                // source replaces the default action, and a signal that is ignored meanwhile would be lost.
                signal(number, SIG_IGN)
            #endif
            sources.append(source)
        }
        return sources
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Glibc)
            let handler = action.__sigaction_handler.sa_handler
        #elseif canImport(Musl)
            let handler = action.__sa_handler.sa_handler
        #else
            let handler = action.__sigaction_u.__sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Uses no task, because all threads of the pool may be blocked.
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

/// Work that is carried out before one of the ``Signals`` ends the process, such as removing a temporary file.
final class EndingWork: Sendable {
    private let sources: [any DispatchSourceSignal]

    /// Makes each signal carry out the work and then end the process, with the status that shells give to it: 129, 130
    /// or 143.
    init(_ work: @escaping @Sendable () -> Void) async {
        sources = await Signals.handled(by: { number in
            work()
            _exit(128 + number)
        })
    }
}
