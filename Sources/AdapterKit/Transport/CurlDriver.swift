#if os(Linux)
    import CCurl
    import Experimentation
    import Foundation
    import Synchronization

    /// Connects callers with libcurl's loop.
    ///
    /// The engine's thread waits for sockets and timers and delivers the answers. Callers queue their transfers for it,
    /// but a lone caller begins its own while the thread sleeps, up to the first bytes on the wire, which saves waking
    /// the thread. No caller ever waits for the loop: its work, a slow handshake for example, blocks only its own
    /// thread.
    final class CurlDriver: Sendable {
        private let configuration: CurlConfiguration
        private let poller: SocketPoller
        private let inbox: Mutex<CurlInbox>
        private let loop: Mutex<CurlLoop>

        /// Creates a driver; `nil` if the process has no descriptor or memory left for it.
        init?(_ configuration: CurlConfiguration, idleTime: Duration, poller: SocketPoller? = SocketPoller()) {
            _ = Self.isInitialised
            guard let poller else { return nil }
            guard let loop = CurlLoop(poller, connectionsPerHost: configuration.connectionsPerHost) else {
                poller.close()
                return nil
            }
            self.configuration = configuration
            self.poller = poller
            inbox = Mutex(CurlInbox(idleTime: idleTime))
            self.loop = Mutex(loop)
        }

        deinit { poller.close() }

        /// libcurl's global state, initialized once for the process.
        private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

        // MARK: From any thread

        /// Begins an exchange.
        ///
        /// - Parameters:
        ///   - exchange: The exchange.
        ///   - isAlone: Whether the engine had no other call when this one came.
        func submit(_ exchange: CurlExchange, isAlone: Bool) {
            guard let entry = inbox.withLock({ $0.enter() }) else {
                return exchange.fail(CurlOutcome.released)
            }
            if entry.startsThread { start() }
            guard let transfer = entry.transfer ?? CurlTransfer(exchange) else {
                leave(1, [])
                return exchange.fail(CurlOutcome.exhausted)
            }
            guard transfer.prepare(exchange, configuration) else {
                return settle([(transfer, transfer.end(.failed(CurlOutcome.refused)))])
            }
            switch inbox.withLock({ $0.submit(transfer, isAlone: isAlone) }) {
            case .left(let wakes): if wakes { poller.wake() }
            case .toBegin: if !begins(transfer) { leave(transfer) }
            case .refused: settle([(transfer, transfer.end(.failed(CurlOutcome.released)))])
            }
        }

        private func leave(_ transfer: CurlTransfer) {
            switch inbox.withLock({ $0.leave(transfer) }) {
            case true?: poller.wake()
            case false?: break
            case nil: settle([(transfer, transfer.end(.failed(CurlOutcome.released)))])
            }
        }

        /// Begins a transfer on the caller's thread; returns `false` if the loop isn't free.
        private func begins(_ transfer: CurlTransfer) -> Bool {
            var endings: [CurlLoop.Ending] = []
            let needsThread = loop.withLockIfAvailable { loop in
                BrokenPipes.ignored(if: loop.isEncrypted || transfer.isEncrypted) {
                    loop.beginTurn()
                    loop.begin(transfer)
                    loop.perform()
                    loop.takeEnded(&endings)
                    return loop.isDueBeforePlan()
                }
            }
            guard let needsThread else { return false }
            if needsThread { poller.wake() }
            settle(endings)
            return true
        }

        func cancel(_ ticket: CurlTicket) {
            // First mark the ticket, for a transfer that is yet to begin; then queue the note, for one that has begun.
            ticket.isCancelled.store(true, ordering: .sequentiallyConsistent)
            if inbox.withLock({ $0.cancel(ticket) }) { poller.wake() }
        }

        func stop() {
            switch inbox.withLock({ $0.stop() }) {
            case .wakeThread: poller.wake()
            case .startThread: start()
            case .nothing: break
            }
        }

        /// Whether the engine currently has a thread.
        var hasThread: Bool { inbox.withLock { $0.hasThread } }

        private func start() {
            let thread = Thread { self.run() }
            thread.name = "http"
            thread.stackSize = 512 << 10
            thread.start()
        }

        /// Delivers the answers of finished transfers to their callers.
        private func settle(_ endings: [CurlLoop.Ending]) {
            guard !endings.isEmpty else { return }
            // Return the transfers first, for callers that call again at once.
            leave(endings.count, endings)
            for ending in endings { ending.answer.continuation.resume(returning: ending.answer.ending) }
        }

        private func leave(_ count: Int, _ endings: [CurlLoop.Ending]) {
            if inbox.withLock({ $0.leave(count, endings) }) { poller.wake() }
        }

        // MARK: On the thread

        private func run() {
            BrokenPipes.ignore()
            var ready: [SocketPoller.Ready] = []
            var notes = CurlInbox.Notes()
            var endings: [CurlLoop.Ending] = []
            while true {
                inbox.withLock { $0.take(&notes) }
                let plan = loop.withLock { loop in
                    loop.beginTurn()
                    for transfer in notes.submitted { loop.begin(transfer) }
                    for ticket in notes.cancelled { loop.cancel(ticket) }
                    if notes.isStopped { loop.close() } else { loop.perform(ready) }
                    loop.takeEnded(&endings)
                    return loop.plan()
                }
                settle(endings)
                if notes.isStopped { return }
                var patience = plan.map { ContinuousClock.now.duration(to: $0) } ?? .seconds(60)
                switch inbox.withLock({ $0.rest() }) {
                case .none: patience = .zero
                case .sleep(let most): patience = min(patience, most)
                case .end: return
                }
                let milliseconds = patience <= .zero ? 0 : Int32(clamping: patience.wholeMilliseconds)
                poller.wait(milliseconds: milliseconds, &ready)
            }
        }
    }
#endif
