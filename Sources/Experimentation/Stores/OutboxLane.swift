import Foundation

/// A destination's place in a store: its holder, what delays its deliveries, and its ledger.
@_spi(StoredForm) public struct OutboxLane: Sendable, Equatable {
    /// The destination that this lane belongs to.
    public var destination: Destination
    /// Its holder; 0 for none.
    public var owner: Int64 = 0
    /// Increases whenever the lane changes hands.
    public var epoch: Int64 = 0
    /// Increases whenever something happens to an event that was handed out.
    public var revision: Int64 = 0
    /// How long the holder has the lane.
    public var lease = Wait()
    /// The last event that was handed out under this lease.
    public var out: Int64 = 0
    /// What the last failed attempt left behind.
    public var trouble = Trouble()
    /// The outcomes of the events owed to the destination, without those that still wait.
    public var ledger = Ledger()

    /// Creates a free lane.
    public init(of destination: Destination) { self.destination = destination }

    /// Until when something waits, and when that was noted.
    public struct Wait: Sendable, Equatable {
        /// When it was noted.
        public var noted: Date
        /// When it ends.
        public var due: Date

        /// A clock correction goes back by seconds; a wait recorded further in the future comes from a clock that was
        /// wrong.
        public static let clockTolerance = 60.0
        /// A week: no wait and no lease is longer; a longer one is damaged.
        public static let longest = 604_800.0

        /// Creates a wait that is over.
        public init() { self.init(noted: .distantPast, due: .distantPast) }

        /// Creates a wait.
        public init(noted: Date, due: Date) {
            self.noted = noted
            self.due = due
        }

        /// Whether the wait isn't over yet.
        public func isOn(at now: Date) -> Bool {
            now < due && now >= noted - Self.clockTolerance && due.timeIntervalSince(noted) <= Self.longest
        }
    }

    /// What a failed attempt leaves behind.
    public struct Trouble: Sendable, Equatable {
        /// How long the vendor asked not to be called.
        public var pause = Wait()
        /// Why the last attempt failed; `nil` once the vendor has taken something.
        public var reason: String?
        /// The last event of the last failed attempt.
        public var tried: Int64 = 0

        /// Creates the state without a failed attempt.
        public init() {}
    }

    /// Whether the lane admits a request.
    public enum Admission: Sendable, Equatable {
        /// Admits the events behind this one, of users whose turn it is.
        case from(Int64, Turn)
        /// Admits nothing.
        case refused(LeaseAnswer)
    }

    /// Determines whose turn it is in a round.
    public struct Turn: Sendable, Equatable {
        /// When the round began.
        public var began: Date
        /// The time.
        public var now: Date
        /// Whether the round continues, rather than begins.
        public var goesOn: Bool

        /// Whether an event's wait holds back the user's later events.
        ///
        /// In a round that continues, so does a wait that ended since the round began, or that began in it: the event
        /// was skipped, and a later one would overtake it. A wait noted by a clock that has been set back since does
        /// not: its event was handed out when the round began, and what it held back would be overtaken, or forgotten.
        public func isHeldBack(by wait: Wait) -> Bool {
            wait.isOn(at: began) || goesOn && began < wait.noted && wait.noted <= now
        }

        /// When an event that is held back by its own wait may be tried: in the next round, if the wait isn't on.
        public func end(of wait: Wait) -> Date { wait.isOn(at: now) ? wait.due : min(wait.due, now) }
    }

    /// Whether the lane has a holder at a moment.
    public func isHeld(at now: Date) -> Bool { owner != 0 && lease.isOn(at: now) }

    /// Whether an event is leased.
    public func hasGivenOut(_ sequence: Int64, at now: Date) -> Bool { sequence <= out && isHeld(at: now) }

    /// Whether a lease is valid, and nothing has happened to the events handed out under it.
    public func isCurrent(_ token: LeaseToken) -> Bool { holds(token) && revision == token.revision }

    /// Whether the lane still belongs to the holder that received this token.
    public func holds(_ token: LeaseToken) -> Bool { owner != 0 && epoch == token.epoch }

    /// Leases the lane to the requester, or returns the reason for a refusal.
    public mutating func admit(_ request: LeaseRequest) -> Admission {
        if let token = request.token {
            guard owner == request.owner, isCurrent(token) else { return .refused(.lost) }
            lease.due = request.until
            return .from(out, Turn(began: lease.noted, now: request.now, goesOn: true))
        }
        if owner != request.owner, isHeld(at: request.now) { return .refused(.busy(until: lease.due)) }
        if trouble.pause.isOn(at: request.now) { return .refused(.paused(until: trouble.pause.due)) }
        if owner != request.owner { epoch += 1 }
        owner = request.owner
        lease = Wait(noted: request.now, due: request.until)
        out = 0
        return .from(0, Turn(began: request.now, now: request.now, goesOn: false))
    }

    /// The token of the current lease.
    public var token: LeaseToken { LeaseToken(destination: destination, epoch: epoch, revision: revision) }

    /// Notes that something happened to an event that may have been handed out: its consent has changed, it was
    /// removed, or a former holder has settled it.
    public mutating func disturb(_ sequence: Int64) {
        if owner != 0, sequence <= out { revision += 1 }
    }

    /// Notes that the vendor has taken something.
    public mutating func succeed() {
        trouble.reason = nil
        trouble.pause = Wait()
    }

    /// Releases the lane, if the token's holder still has it.
    public mutating func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) {
        guard holds(token) else { return }
        free()
        guard let pause else { return }
        trouble.reason = pause.reason
        trouble.tried = pause.through
        if let until = pause.until { trouble.pause = Wait(noted: now, due: until) }
    }

    /// Frees the lane.
    public mutating func free() {
        owner = 0
        out = 0
        lease = Wait()
    }
}
