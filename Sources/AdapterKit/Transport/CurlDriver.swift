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
            /// Whether the thread has been woken for what lies here.
            var isAnnounced = false

            /// Notes that there is something to wake the thread for; returns whether nobody else has.
            mutating func announce() -> Bool {
                defer { isAnnounced = true }
                return hasThread && !isAnnounced
            }
        }

        private let configuration: CurlTransport.Configuration
        private let inbox = Mutex(Inbox())
        // Touched by the thread alone, but for `curl_multi_wakeup`, which libcurl allows from anywhere. It is released when
        // neither the transport nor the thread is left.
        private nonisolated(unsafe) let multi: UnsafeMutableRawPointer?

        init(_ configuration: CurlTransport.Configuration) {
            self.configuration = configuration
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
                    inbox.hasThread = true
                    inbox.isAnnounced = true
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
            let wakes = inbox.withLock { inbox -> Bool in
                inbox.isStopped = true
                return inbox.hasThread
            }
            if wakes { wake() }
        }

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
            while true {
                let notes = takeNotes()
                for exchange in notes.submitted { transfers.begin(exchange) }
                for ticket in notes.cancelled { transfers.end(ticket, with: CurlOutcome.cancelled) }
                guard !notes.isStopped else { break }
                transfers.perform()
                // The timeout is no more than a safety net: libcurl shortens it for its own timers, and notes wake it.
                curl_multi_poll(multi, nil, 0, 60_000, nil)
            }
            transfers.endAll(with: ExperimentationError(.shutDown, "the transport has been released"))
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
