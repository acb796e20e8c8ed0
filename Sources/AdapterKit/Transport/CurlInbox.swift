#if os(Linux)
    import Experimentation

    /// What callers leave for the engine's thread, and what both must agree on.
    struct CurlInbox {
        /// What the thread finds.
        struct Notes {
            var submitted: [CurlTransfer] = []
            var cancelled: [CurlTicket] = []
            var isStopped = false
        }

        /// What a caller finds.
        struct Entry {
            /// A transfer whose handle can be used again.
            var transfer: CurlTransfer?
            var startsThread: Bool
        }

        /// What the thread does when it has done everything.
        enum Rest {
            case none
            case sleep(atMost: Duration)
            /// The thread ends; the transfers are released with it.
            case end([CurlTransfer])
        }

        /// What becomes of a transfer that is ready.
        enum Submission {
            /// The thread will find it, and may have to be woken for it.
            case left(wakes: Bool)
            /// The caller is to begin it.
            case toBegin
            case refused
        }

        /// How the engine is stopped.
        enum Stop { case wakeThread, startThread, nothing }

        private static let transfersKept = 64
        private static let few = 4

        private(set) var hasThread = false
        private let idleTime: Duration
        private var notes = Notes()
        private var idle: [CurlTransfer] = []
        /// How many calls have been counted in and not yet out.
        private var underWay = 0
        private var idleSince = ContinuousClock.now
        private var isAsleep = false
        /// Whether there has ever been a thread, and so perhaps connections that are kept.
        private var hasRun = false

        init(idleTime: Duration) { self.idleTime = idleTime }

        // MARK: From any thread

        /// Counts a call in; `nil` when the engine has been stopped.
        mutating func enter() -> Entry? {
            guard !notes.isStopped else { return nil }
            underWay += 1
            return Entry(transfer: idle.popLast(), startsThread: beginsThread())
        }

        /// Counts calls out, and keeps transfers for later ones; returns whether the thread is to be woken.
        mutating func leave(_ count: Int, _ transfers: [CurlTransfer]) -> Bool {
            underWay -= count
            idle += transfers.prefix(Self.transfersKept - idle.count)
            guard underWay == 0 else { return false }
            idleSince = .now
            return wakes()
        }

        /// Leaves a transfer for the thread, or for its caller if the thread sleeps and few others are under way.
        ///
        /// To wake the thread costs more than what it would do for one transfer, and less than what it saves for many: it has all
        /// that libcurl needs in its processor's cache.
        mutating func submit(_ transfer: CurlTransfer) -> Submission {
            guard !notes.isStopped else { return .refused }
            guard !isAsleep || underWay > Self.few else { return .toBegin }
            notes.submitted.append(transfer)
            return .left(wakes: wakes())
        }

        /// Leaves a transfer for the thread in any case; returns whether that is to be woken, `nil` for a refusal.
        mutating func leave(_ transfer: CurlTransfer) -> Bool? {
            guard !notes.isStopped else { return nil }
            notes.submitted.append(transfer)
            return wakes()
        }

        /// Asks for a call to be ended; returns whether the thread is to be woken.
        mutating func cancel(_ ticket: CurlTicket) -> Bool {
            guard hasThread else { return false }
            notes.cancelled.append(ticket)
            return wakes()
        }

        /// Asks for the thread's end.
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

        /// Takes what has been left.
        mutating func take() -> Notes {
            defer { notes = Notes(isStopped: notes.isStopped) }
            isAsleep = false
            return notes
        }

        /// Lies down if nothing has come meanwhile.
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
