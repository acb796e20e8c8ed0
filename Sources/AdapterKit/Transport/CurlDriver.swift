#if os(Linux)
    import CCurl
    import Experimentation
    import Foundation
    import Glibc
    import Synchronization

    /// Drives libcurl's multi interface on a thread of its own; everything else only leaves notes in the inbox.
    final class CurlDriver: Sendable {
        private struct Inbox {
            var submitted: [CurlExchange] = []
            var cancelled: [CurlTicket] = []
            var isStopped = false
            var hasThread = false
            /// Whether there has ever been a thread, and so perhaps connections that are kept.
            var hasRun = false
            /// Whether the thread has been woken for what lies here.
            var isAnnounced = false

            /// Notes that there is something to wake the thread for; returns whether nobody else has.
            mutating func announce() -> Bool {
                defer { isAnnounced = true }
                return hasThread && !isAnnounced
            }

            /// Notes that a thread is about to start.
            mutating func beginThread() {
                hasThread = true
                hasRun = true
                isAnnounced = true
            }
        }

        private let configuration: CurlTransport.Configuration
        private let idleTime: Duration
        private let inbox = Mutex(Inbox())
        // Touched by the thread alone, but for `curl_multi_wakeup`, which libcurl allows from anywhere. It is released when
        // neither the transport nor the thread is left.
        private nonisolated(unsafe) let multi: UnsafeMutableRawPointer?

        init(_ configuration: CurlTransport.Configuration, idleTime: Duration) {
            self.configuration = configuration
            self.idleTime = idleTime
            _ = Self.isInitialised
            multi = curl_multi_init()
            if let multi {
                _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, configuration.connectionsPerHost))
                _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.connectionsPerHost) * 2)
                _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, 0)
            }
        }

        deinit {
            if let multi { curl_multi_cleanup(multi) }
        }

        /// libcurl's global state, once for the process.
        private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

        // MARK: From any thread

        func submit(_ exchange: CurlExchange) {
            enum Next { case wake, wait, start, refuse(ExperimentationError) }
            let next = inbox.withLock { inbox -> Next in
                guard !inbox.isStopped, multi != nil else {
                    return .refuse(ExperimentationError(.shutDown, "the transport has been released"))
                }
                guard !exchange.ticket.isCancelled.load(ordering: .sequentiallyConsistent) else {
                    return .refuse(CurlOutcome.cancelled)
                }
                inbox.submitted.append(exchange)
                guard inbox.hasThread else {
                    inbox.beginThread()
                    return .start
                }
                return inbox.announce() ? .wake : .wait
            }
            switch next {
            case .wait: break
            case .wake: wake()
            case .start: start()
            case .refuse(let error): exchange.continuation.resume(returning: .failure(error))
            }
        }

        func cancel(_ ticket: CurlTicket) {
            // First the ticket, for a submission that is still to come; then the note, for one that has been.
            ticket.isCancelled.store(true, ordering: .sequentiallyConsistent)
            let wakes = inbox.withLock { inbox -> Bool in
                guard inbox.hasThread else { return false }
                inbox.cancelled.append(ticket)
                return inbox.announce()
            }
            if wakes { wake() }
        }

        func stop() {
            enum Next { case wake, start, nothing }
            let next = inbox.withLock { inbox -> Next in
                inbox.isStopped = true
                if inbox.hasThread { return .wake }
                guard inbox.hasRun else { return .nothing }
                // Kept connections are closed on a thread where that can't raise a signal.
                inbox.beginThread()
                return .start
            }
            switch next {
            case .wake: wake()
            case .start: start()
            case .nothing: break
            }
        }

        /// Whether the engine has a thread at this moment.
        var hasThread: Bool { inbox.withLock { $0.hasThread } }

        private func wake() {
            if let multi { curl_multi_wakeup(multi) }
        }

        private func start() {
            let thread = Thread { self.run() }
            thread.name = "http"
            thread.stackSize = 512 << 10
            thread.start()
        }

        // MARK: On the thread

        private func run() {
            guard let multi else { return }
            // With a connection closed under it, OpenSSL writes in a way that would raise this signal and end the process.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)

            var transfers = CurlTransfers(multi: multi, configuration: configuration)
            var idleSince: ContinuousClock.Instant?
            while true {
                let notes = takeNotes()
                for exchange in notes.submitted { transfers.begin(exchange) }
                for ticket in notes.cancelled { transfers.end(ticket, with: CurlOutcome.cancelled) }
                guard !notes.isStopped else { break }
                transfers.perform()
                // The timeout is no more than a safety net: libcurl shortens it for its own timers, and notes wake it.
                var patience: Duration = .seconds(60)
                if transfers.isEmpty {
                    let now = ContinuousClock.now
                    let since = idleSince ?? now
                    idleSince = since
                    patience = idleTime - since.duration(to: now)
                    if patience <= .zero, endsThread() { break }
                } else {
                    idleSince = nil
                }
                curl_multi_poll(multi, nil, 0, Int32(clamping: max(1, patience.wholeMilliseconds)), nil)
            }
            transfers.endAll(with: ExperimentationError(.shutDown, "the transport has been released"))
        }

        /// Lets the thread end if nothing has come; the next request starts another, and finds the connections that are kept.
        private func endsThread() -> Bool {
            inbox.withLock { inbox in
                guard inbox.submitted.isEmpty, !inbox.isStopped else { return false }
                inbox.cancelled = []
                inbox.isAnnounced = false
                inbox.hasThread = false
                return true
            }
        }

        private func takeNotes() -> (submitted: [CurlExchange], cancelled: [CurlTicket], isStopped: Bool) {
            inbox.withLock { inbox in
                defer {
                    inbox.submitted = []
                    inbox.cancelled = []
                    inbox.isAnnounced = false
                }
                return (inbox.submitted, inbox.cancelled, inbox.isStopped)
            }
        }
    }
#endif
