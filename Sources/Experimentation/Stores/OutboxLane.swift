import Foundation

/// A destination's place in a store: who delivers, what prevents it, and the ledger.
package struct OutboxLane: Sendable, Equatable {
    /// The destination of the lane.
    package var destination: Destination
    /// Its holder; 0 for none.
    package var owner: Int64 = 0
    /// Increases whenever the lane changes hands.
    package var epoch: Int64 = 0
    /// Increases whenever something happens to an event that was handed out.
    package var revision: Int64 = 0
    /// How long the holder's lease lasts.
    package var lease = Wait()
    /// The last event handed out under this lease.
    package var out: Int64 = 0
    /// How long the vendor asked for a pause.
    package var pause = Wait()
    /// Why the last delivery ended, if it failed.
    package var reason: String?
    /// The last event that was tried unsuccessfully.
    package var tried: Int64 = 0
    /// The ledger, without what waits.
    package var ledger = Ledger()

    /// Creates a free lane.
    package init(of destination: Destination) { self.destination = destination }

    /// When a wait ends, and when it was recorded.
    package struct Wait: Sendable, Equatable {
        /// When it was recorded.
        package var noted: Date
        /// When it ends.
        package var due: Date

        /// A clock correction goes back by seconds; a wait recorded further in the future comes from a clock that was
        /// wrong.
        package static let clockTolerance = 60.0
        /// A week: no wait and no lease is longer; a longer one is damaged.
        package static let longest = 604_800.0

        /// Creates a wait that is over.
        package init() { self.init(noted: .distantPast, due: .distantPast) }

        /// Creates a wait.
        package init(noted: Date, due: Date) {
            self.noted = noted
            self.due = due
        }

        /// Whether the wait is still on.
        package func isOn(at now: Date) -> Bool {
            now < due && now >= noted - Self.clockTolerance && due.timeIntervalSince(noted) <= Self.longest
        }
    }

    /// What may be delivered, as far as the lane itself knows.
    package enum Admission: Sendable, Equatable {
        /// What comes after an event, of users whose turn it is.
        case from(Int64, Turn)
        /// Nothing.
        case refused(LeaseAnswer)
    }

    /// Determines whose turn it is in a round.
    package struct Turn: Sendable, Equatable {
        /// When the round began.
        package var began: Date
        /// The time.
        package var now: Date
        /// Whether the round is being continued.
        package var goesOn: Bool

        /// Whether an event's wait holds back the user's later events.
        ///
        /// In a continued round this is so even if the wait has ended since the round began, or began and ended within
        /// it: the event was skipped, and a later one would overtake it.
        package func isHeldBack(by wait: Wait) -> Bool {
            wait.isOn(at: now) || goesOn && (wait.isOn(at: began) || wait.noted > began)
        }
    }

    /// Whether the lane has a holder at a given time.
    package func isHeld(at now: Date) -> Bool { owner != 0 && lease.isOn(at: now) }

    /// Whether an event is leased.
    package func hasGivenOut(_ sequence: Int64, at now: Date) -> Bool { sequence <= out && isHeld(at: now) }

    /// Whether a lease is held, and nothing has happened to what was handed out under it.
    package func isCurrent(_ token: LeaseToken) -> Bool { holds(token) && revision == token.revision }

    /// Whether the lane is still held under this token.
    package func holds(_ token: LeaseToken) -> Bool { owner != 0 && epoch == token.epoch }

    /// Hands the lane to the deliverer that asks, or returns why not.
    package mutating func admit(_ request: LeaseRequest) -> Admission {
        if let token = request.token {
            guard owner == request.owner, isCurrent(token) else { return .refused(.lost) }
            lease.due = request.until
            return .from(out, Turn(began: lease.noted, now: request.now, goesOn: true))
        }
        if owner != request.owner, isHeld(at: request.now) { return .refused(.busy(until: lease.due)) }
        if pause.isOn(at: request.now) { return .refused(.paused(until: pause.due)) }
        if owner != request.owner { epoch += 1 }
        owner = request.owner
        lease = Wait(noted: request.now, due: request.until)
        out = 0
        return .from(0, Turn(began: request.now, now: request.now, goesOn: false))
    }

    /// The current lease's token.
    package var token: LeaseToken { LeaseToken(destination: destination, epoch: epoch, revision: revision) }

    /// Notes that an event's consent was denied or granted, or that a former holder settled it.
    package mutating func disturb(_ sequence: Int64) {
        if owner != 0, sequence <= out { revision += 1 }
    }

    /// Notes that the vendor has taken something.
    package mutating func succeed() {
        reason = nil
        pause = Wait()
    }

    /// Releases the lane, if it is still held under this token.
    package mutating func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) {
        guard holds(token) else { return }
        free()
        guard let pause else { return }
        reason = pause.reason
        tried = pause.through
        if let until = pause.until { self.pause = Wait(noted: now, due: until) }
    }

    /// Frees the lane.
    package mutating func free() {
        owner = 0
        out = 0
        lease = Wait()
    }
}
