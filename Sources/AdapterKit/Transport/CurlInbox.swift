#if os(Linux)
    import Experimentation

    /// What callers queue for the engine's thread, and the state that both share.
    struct CurlInbox {
        /// The jobs that the thread takes from the inbox.
        struct Notes {
            var submitted: [CurlTransfer] = []
            var cancelled: [CurlTicket] = []
            var isStopped = false

            /// Forgets the jobs, and keeps the memory for others.
            mutating func clear() {
                submitted.removeAll(keepingCapacity: true)
                cancelled.removeAll(keepingCapacity: true)
            }
        }

        /// The result of entering, for a caller.
        struct Entry {
            /// A transfer whose handle can be reused.
            var transfer: CurlTransfer?
            var startsThread: Bool
        }

        /// What the thread does once it has no work left.
        enum Rest {
            case none
            case sleep(atMost: Duration)
            /// The thread ends, and the transfers are released with it.
            case end([CurlTransfer])
        }

        /// What happens to a transfer that is ready.
        enum Submission {
            /// It is queued for the thread, which may have to be woken.
            case left(wakes: Bool)
            /// The caller must begin it.
            case toBegin
            case refused
        }

        /// How to stop the engine.
        enum Stop { case wakeThread, startThread, nothing }

        private static let transfersKept = 64

        private(set) var hasThread = false
        private let idleTime: Duration
        private var notes = Notes()
        private var idle: [CurlTransfer] = []
        /// The number of calls that have entered and not yet left.
        private var underWay = 0
        private var idleSince = ContinuousClock.now
        private var isAsleep = false
        /// Whether there has ever been a thread, and so perhaps kept connections.
        private var hasRun = false

        init(idleTime: Duration) { self.idleTime = idleTime }

        // MARK: From any thread

        /// Registers a call; `nil` once the engine has been stopped.
        mutating func enter() -> Entry? {
            guard !notes.isStopped else { return nil }
            underWay += 1
            return Entry(transfer: idle.popLast(), startsThread: beginsThread())
        }

        /// Unregisters calls, and keeps transfers for later ones; returns whether to wake the thread.
        mutating func leave(_ count: Int, _ endings: [CurlLoop.Ending]) -> Bool {
            underWay -= count
            for ending in endings.prefix(Self.transfersKept - idle.count) { idle.append(ending.transfer) }
            guard underWay == 0 else { return false }
            idleSince = .now
            return wakes()
        }

        /// Queues a transfer for the thread, or returns it to its caller if the thread sleeps and the call is alone.
        ///
        /// Waking the thread costs more than its work for one transfer, and less than it saves for several: it sends
        /// them together, and has all that libcurl needs in its processor's cache.
        mutating func submit(_ transfer: CurlTransfer, isAlone: Bool) -> Submission {
            guard !notes.isStopped else { return .refused }
            guard !isAsleep || !isAlone else { return .toBegin }
            notes.submitted.append(transfer)
            return .left(wakes: wakes())
        }

        /// Queues a transfer for the thread in any case; returns whether to wake the thread, or `nil` if refused.
        mutating func leave(_ transfer: CurlTransfer) -> Bool? {
            guard !notes.isStopped else { return nil }
            notes.submitted.append(transfer)
            return wakes()
        }

        /// Requests the end of a call; returns whether to wake the thread.
        mutating func cancel(_ ticket: CurlTicket) -> Bool {
            guard hasThread else { return false }
            notes.cancelled.append(ticket)
            return wakes()
        }

        /// Requests the thread's end.
        mutating func stop() -> Stop {
            notes.isStopped = true
            if hasThread { return .wakeThread }
            // Kept connections are closed on a thread where that can't raise a signal.
            return hasRun && beginsThread() ? .startThread : .nothing
        }

        private mutating func beginsThread() -> Bool {
            defer {
                hasThread = true
                hasRun = true
            }
            return !hasThread
        }

        private mutating func wakes() -> Bool {
            defer { isAsleep = false }
            return isAsleep
        }

        // MARK: On the thread

        /// Hands over everything queued.
        ///
        /// - Parameter taken: Receives it, replacing its contents; its memory is used for what is queued next.
        mutating func take(_ taken: inout Notes) {
            taken.clear()
            taken.isStopped = notes.isStopped
            swap(&notes, &taken)
            isAsleep = false
        }

        /// Puts the thread to sleep unless work has arrived meanwhile.
        mutating func rest() -> Rest {
            guard notes.submitted.isEmpty, notes.cancelled.isEmpty, !notes.isStopped else { return .none }
            var patience: Duration = .seconds(60)
            if underWay == 0 {
                patience = idleTime - idleSince.duration(to: .now)
                if patience <= .zero {
                    defer { idle = [] }
                    hasThread = false
                    return .end(idle)
                }
            }
            isAsleep = true
            return .sleep(atMost: patience)
        }
    }
#endif
