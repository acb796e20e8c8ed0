import Experimentation
import ExperimentationSQLite
import Foundation
import GatewayBodies
import Synchronization

/// Accepts events and assignments while a tenant's shared database is away: an outbox in a local file, whose
/// destination is the database.
///
/// While anything waits here, later events join it, so that each user's events stay in order on this instance.
final class Meanwhile: Sendable {
    let client: ExperimentationClient
    private let marks: DenialMarks
    let seen: SeenEvents
    private let forgetting: Forgetting
    private let database: DatabaseSight
    private let waiting: Waiting
    private let carrying: Carrying
    private let outbox: any OutboxStore
    private let exposed = BoundedSet<String>(limit: 10_000)
    private let assigned = BoundedSet<String>(limit: 100_000)

    /// Opens the file; what an earlier run left in it keeps waiting.
    ///
    /// - Parameters:
    ///   - file: The SQLite file.
    ///   - scope: The database's name, so that nothing is handed over to another database.
    ///   - bytes: How many bytes may wait; more is refused.
    ///   - environment: Clock, randomness and log.
    ///   - database: Whether the database is known to be away.
    /// - Throws: `ErrorCode.store`.
    convenience init(
        file: URL,
        scope: String,
        bytes: Int,
        environment: ClientEnvironment,
        database: DatabaseSight
    ) async throws(ExperimentationError) {
        try await self.init(scope: scope, bytes: bytes, environment: environment, database: database) {
            provider throws(ExperimentationError) in
            var options = SQLiteStore.Options()
            // A parcel is an event within an event.
            options.limits.maximumEventBytes *= 4
            // A full file would drop accepted events, and pages, indexes and the ids of earlier events fill it as well.
            // So what is accepted is counted here instead.
            options.limits.maximumBytes = .max
            return try await .sqlite(at: file, for: provider, options: options, log: environment.log)
        }
    }

    /// Opens a replacement for the file.
    init(
        scope: String,
        bytes: Int,
        environment: ClientEnvironment,
        database: DatabaseSight,
        store open: (any ExperimentationProvider) async throws(ExperimentationError) -> ClientStore
    ) async throws(ExperimentationError) {
        let (waiting, carrying) = (Waiting(limit: bytes), Carrying())
        let provider = Handover(scope: scope) { parcels in
            await carrying.carry(parcels, ifNot: { database.isAway }, counting: waiting)
        }
        let store = try await open(provider)
        client = try await ExperimentationClient(provider: provider, store: store, environment: environment)
        (marks, outbox) = (DenialMarks(store.state), store.outbox)
        seen = SeenEvents(state: store.state, time: environment.time, isShared: false)
        forgetting = Forgetting(seen)
        (self.database, self.waiting, self.carrying) = (database, waiting, carrying)
        waiting.set(try await client.outboxStatus(), unlessChangedSince: 0)
    }

    /// Whether new events go here: the database is away, or other events are waiting for it.
    var isNeeded: Bool { database.isAway || waiting.isAny }

    /// Replaces the closure that tells whether the database is away.
    func see(by isAway: @escaping @Sendable () -> Bool) { database.see(by: isAway) }

    /// The number of waiting parcels.
    var count: Int { waiting.count }

    /// The number of parcels that the file couldn't take, and whose senders weren't told.
    var dropped: Int { waiting.dropped + outbox.overflowed }

    /// Sets the function that hands parcels over; until then they wait.
    ///
    /// - Parameters:
    ///   - carrier: Hands parcels over.
    ///   - noting: Records an accepted event that isn't handed over because of a denial, so that sending it again
    ///     changes nothing.
    func hand(
        over carrier: @escaping @Sendable ([Parcel]) async -> [Verdict],
        noting: @escaping @Sendable (EventRequest) async -> Void = { _ in }
    ) {
        let marks = marks
        carrying.begin { parcels in
            var verdicts = [Verdict](repeating: .rejected("This isn't a parcel."), count: parcels.count)
            var sent: [(place: Int, parcel: Parcel)] = []
            // A parcel that has to wait holds back those after it, so that each user's parcels keep their order.
            var stopped: Set<String> = []
            for (place, parcel) in parcels.enumerated() {
                guard let parcel else { continue }
                let user = SeenEvents.digest(parcel.userID)
                var standing = DenialMarks.Standing.free
                if stopped.contains(user) {
                    standing = .unsettled
                } else if parcel.needsConsent {
                    standing = await marks.standing(of: parcel.userID, for: parcel.event)
                }
                switch standing {
                case .free: sent.append((place, parcel))
                case .denied:
                    if let event = parcel.event { await noting(event) }
                    verdicts[place] = .rejected("The user has denied consent.")
                case .unsettled:
                    verdicts[place] = .outage()
                    stopped.insert(user)
                }
            }
            for ((place, parcel), verdict) in zip(sent, await carrier(sent.map(\.parcel))) {
                verdicts[place] = verdict
                if verdict == .delivered, let event = parcel.event { await marks.remove(after: event) }
            }
            return verdicts
        }
    }

    // MARK: Accepting

    /// Accepts an event durably, each id once.
    func take(_ event: EventRequest) async -> EventOutcome {
        let digest = SeenEvents.digest(event.id)
        do throws(ExperimentationError) {
            // Claimed first, so that a repetition changes nothing.
            let claim = try await seen.claim(digest)
            if claim == .seen { return .repeated }
            let isThere = claim == .taken ? try await client.isWaiting(event.id) : false
            if isThere {
                try await marks.settle(event)
            } else {
                var dated = event
                dated.date = event.date ?? seen.time.now
                try await heed(event) { [dated] () async throws(ExperimentationError) in
                    try await self.accept(.event(dated), id: event.id)
                }
            }
            // Without this record, a repetition is found among the waiting events, and later by the database.
            try? await seen.insert(digest)
            return isThere ? .repeated : .accepted
        } catch {
            let refusal = EventRefusal(error.code, error.message)
            if !refusal.isOpen { try? await seen.giveBack(digest) }
            return .refused(refusal)
        }
    }

    /// Accepts an event if its user's consent allows it, and applies what the event states about consent.
    ///
    /// - Throws: `ErrorCode.consentDenied`, and what `accept` throws.
    private func heed(
        _ event: EventRequest,
        _ accept: () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        switch (event.event.kind, event.user.consent) {
        case (.consentChanged(false), _):
            try await marks.set(by: event)
            try await accept()
        case (.consentChanged(true), _): try await marks.end(by: event, once: accept)
        case (_, .granted) where event.isConsentStated: try await marks.end(by: event, once: accept)
        case (_, let consent):
            if consent == .denied { throw .deniedMeanwhile }
            if try await marks.isDenied(event.user.id) { throw .deniedMeanwhile }
            try await accept()
        }
    }

    /// Removes the mark of a denial that the database has accepted; from now on the database decides.
    ///
    /// A denial that was refused here for lack of room left its mark nevertheless.
    func yield(after event: EventRequest) async { await marks.remove(after: event) }

    /// Accepts an exposure, once per user and variation.
    func take(_ exposure: Exposure, of user: User, isConsentStated: Bool) async {
        let assignment = exposure.assignment
        let key = SeenEvents.digest("\(user.id)\n\(assignment.experiment.id)\n\(assignment.variation.id)")
        guard exposed.insert(key) else { return }
        let event = EventRequest(
            id: UUID().uuidString,
            user: user,
            isConsentStated: isConsentStated,
            event: TrackingEvent(.exposure(exposure)),
            date: seen.time.now
        )
        guard case .refused(let refusal) = await take(event) else { return }
        // Also if the store has failed: its state may be what lacks room. A user's denial isn't a failure.
        if refusal.code != .consentDenied { waiting.drop() }
        // There may be room, or consent, later.
        exposed.remove(key)
    }

    /// Accepts assignments, once each, to be stored unless another instance has stored some first.
    func take(_ record: AssignmentRecord) async {
        let pairs = record.assignments.variations.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let key = SeenEvents.digest("\(record.userID)\n\(pairs.joined(separator: "\n"))")
        guard assigned.insert(key) else { return }
        do throws(ExperimentationError) { try await accept(.assignments(record), id: UUID().uuidString) } catch {
            waiting.drop()
            assigned.remove(key)
        }
    }

    private func accept(_ parcel: Parcel, id: String) async throws(ExperimentationError) {
        guard let event = parcel.wrapped else {
            throw ExperimentationError(.invalidArgument, "The event can't be written.")
        }
        guard waiting.begin(bytes: event.size) else {
            throw ExperimentationError(.outboxFull, "The file for events has no room until the database is back.")
        }
        do throws(ExperimentationError) {
            try await client.track(event.event, for: User(id: parcel.userID), id: id)
        } catch {
            waiting.end(isOut: !EventRefusal(error.code, error.message).isOpen)
            throw error
        }
        waiting.end(isOut: false)
    }

    // MARK: Life cycle

    /// Hands over what waits, if the database is back; called periodically.
    func look() async {
        guard waiting.isAny, !database.isAway else { return }
        // The outbox waits longer after each failure, but this outage is known to be over.
        _ = try? await client.flush(within: .seconds(30), retrying: false)
        let before = waiting.changes
        if let status = try? await client.outboxStatus() { waiting.set(status, unlessChangedSince: before) }
    }

    /// Deletes the ids of past days; called periodically.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled`; the next call continues.
    func forget() async throws(ExperimentationError) { try await forgetting.look() }

    /// Hands over what it can and closes the file.
    func close() async {
        await client.shutdown()
        carrying.end()
    }
}

extension ExperimentationError {
    fileprivate static let deniedMeanwhile = ExperimentationError(
        .consentDenied,
        "The user has denied consent; the event was not accepted."
    )
}
