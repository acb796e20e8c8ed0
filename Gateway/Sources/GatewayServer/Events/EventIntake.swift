import Experimentation
import Foundation
import GatewayBodies
import Synchronization

/// Accepts the events of a tenant: each id once, stored durably before the answer, and in order for each user.
final class EventIntake: Sendable {
    private let client: ExperimentationClient
    let seen: SeenEvents
    private let forgetting: Forgetting
    /// Takes what the shared database can't; `nil` if there is no shared database, or no file for this purpose.
    private let meanwhile: Meanwhile?
    private let wasAccepted: WasAccepted
    /// Whether only ``meanwhile`` takes events.
    private let isClosed: Bool
    private let flights = Mutex<[String: Task<EventOutcome, Never>]>([:])
    /// The digests of accepted events that couldn't be recorded as such.
    private let unrecorded = BoundedSet<String>(limit: 10_000)
    /// The keys of events that were accepted recently: while the database is away, they are recorded nowhere else.
    private let recent = BoundedSet<String>(limit: 100_000)

    /// Whether an event was accepted although its acceptance failed, by its id and its user's.
    typealias WasAccepted = @Sendable (_ id: String, _ userID: String) async throws(ExperimentationError) -> Bool

    /// Creates an intake, and recovers what a crash may have left.
    ///
    /// - Parameters:
    ///   - client: Where events go.
    ///   - seen: The ids that were accepted.
    ///   - meanwhile: Takes events while the store is away.
    ///   - isClosed: Whether the store isn't the tenant's own, so that only `meanwhile` takes events, or nothing does.
    ///   - wasAccepted: Asks the store about an event whose acceptance had no outcome; by default, looks for it among
    ///     all waiting events.
    /// - Throws: `ErrorCode.store`.
    init(
        _ client: ExperimentationClient,
        seen: SeenEvents,
        meanwhile: Meanwhile? = nil,
        isClosed: Bool = false,
        wasAccepted: WasAccepted? = nil
    ) async throws(ExperimentationError) {
        self.client = client
        self.seen = seen
        self.meanwhile = meanwhile
        if let wasAccepted {
            self.wasAccepted = wasAccepted
        } else {
            self.wasAccepted = { id, _ throws(ExperimentationError) in try await client.isWaiting(id) }
        }
        forgetting = Forgetting(seen)
        self.isClosed = isClosed
        try await seen.recover(from: client)
    }

    /// Accepts the events of a request.
    ///
    /// - Returns: The outcome of each, in order.
    func take(_ events: [Result<EventRequest, EventRefusal>]) async -> [EventOutcome] {
        guard let meanwhile else { return isClosed ? events.map(Self.away) : await carryOut(events) }
        var outcomes = [EventOutcome](repeating: .accepted, count: events.count)
        var left = Array(events.indices)
        if !isClosed, !meanwhile.isNeeded {
            outcomes = await carryOut(events)
            for case (.success(let event), let outcome) in zip(events, outcomes) where outcome.isInStore {
                await meanwhile.yield(after: event)
            }
            left = left.filter { outcomes[$0].isForWantOfAStore }
        }
        var lines: [String: Line] = [:]
        for place in left {
            switch events[place] {
            case .success(let event):
                outcomes[place] = await lines[event.user.id, default: Line()].take(event) { event in
                    if self.wasAcceptedLately(event) { return .repeated }
                    return self.client.takes(event) ? await self.take(event, by: meanwhile) : .refused(.unsupported)
                }
            case .failure(let refusal): outcomes[place] = .refused(refusal)
            }
        }
        return outcomes
    }

    /// Accepts an event into the file.
    ///
    /// A denial applies before it reaches the database: until then the client sends none of the user's events there.
    private func take(_ event: EventRequest, by meanwhile: Meanwhile) async -> EventOutcome {
        let outcome = await meanwhile.take(event)
        if !isClosed, outcome == .accepted, case .consentChanged(false) = event.event.kind {
            var denying = event.user
            denying.consent = .denied
            // This notes the denial without waiting: if the database doesn't take it, it is owed. The vendor receives
            // it once it is transferred.
            _ = client.session(for: denying)
        }
        return outcome
    }

    /// A user's events in a request, in order: an event that may be accepted later holds back those after it.
    private struct Line {
        private var stop: EventRefusal?

        mutating func take(
            _ event: EventRequest,
            by take: (EventRequest) async -> EventOutcome
        ) async -> EventOutcome {
            if let stop { return .refused(stop) }
            let outcome = await take(event)
            if case .refused(let refusal) = outcome, refusal.mayPass { stop = refusal }
            return outcome
        }
    }

    private static func away(_ event: Result<EventRequest, EventRefusal>) -> EventOutcome {
        if case .failure(let refusal) = event { return .refused(refusal) }
        return .refused(EventRefusal(.store, "The database is away; send it again."))
    }

    /// Takes events into the tenant's store, or not at all.
    ///
    /// - Returns: The outcome of each, in order.
    func carryOut(_ events: [Result<EventRequest, EventRefusal>]) async -> [EventOutcome] {
        let request = UUID().uuidString
        let digests = events.compactMap { try? SeenEvents.digest($0.get().id) }
        do throws(ExperimentationError) {
            if !digests.isEmpty { try await seen.begin(digests, request: request) }
        } catch {
            return events.map { _ in .refused(Self.refusal(error)) }
        }
        var lanes: [String: [(place: Int, event: EventRequest)]] = [:]
        var outcomes = [EventOutcome](repeating: .accepted, count: events.count)
        for (place, event) in events.enumerated() {
            switch event {
            case .success(let event): lanes[event.user.id, default: []].append((place, event))
            case .failure(let refusal): outcomes[place] = .refused(refusal)
            }
        }
        await withTaskGroup(of: [(Int, EventOutcome)].self) { group in
            for lane in lanes.values {
                group.addTask {
                    var outcomes: [(Int, EventOutcome)] = []
                    var line = Line()
                    for (place, event) in lane { outcomes.append((place, await line.take(event, by: self.take))) }
                    return outcomes
                }
            }
            for await lane in group { for (place, outcome) in lane { outcomes[place] = outcome } }
        }
        // If the record stays, or its removal fails, the next run recovers from it.
        if !digests.contains(where: unrecorded.contains) { try? await seen.end(request: request) }
        return outcomes
    }

    /// Accepts an event; a concurrent repetition waits for the first one's outcome.
    private func take(_ event: EventRequest) async -> EventOutcome {
        let digest = SeenEvents.digest(event.id)
        let (flight, isFirst) = flights.withLock { flights -> (Task<EventOutcome, Never>, Bool) in
            if let flight = flights[digest] { return (flight, false) }
            let flight = Task { await self.accept(event, digest) }
            flights[digest] = flight
            return (flight, true)
        }
        let outcome = await flight.value
        if isFirst { flights.withLock { $0[digest] = nil } }
        return outcome == .accepted && !isFirst ? .repeated : outcome
    }

    private func accept(_ event: EventRequest, _ digest: String) async -> EventOutcome {
        if unrecorded.contains(digest) {
            await record(digest)
            return .repeated
        }
        do throws(ExperimentationError) {
            switch try await seen.claim(digest) {
            case .claimed: break
            case .taken:
                if try await wasAccepted(event.id, event.user.id) {
                    await record(digest)
                    return .repeated
                }
            case .seen: return .repeated
            case .elsewhere:
                return .refused(
                    EventRefusal(.timeout, "Another instance is taking an event with this id; send it again.")
                )
            }
        } catch {
            return .refused(Self.refusal(error))
        }
        return await take(event, digest)
    }

    private func take(_ event: EventRequest, _ digest: String) async -> EventOutcome {
        do throws(ExperimentationError) {
            if case .consentChanged(let isGranted) = event.event.kind {
                try await client.setConsent(isGranted ? .granted : .denied, for: event.user)
            } else {
                try await client.track(
                    event.event,
                    for: event.user,
                    at: event.date,
                    id: event.id,
                    isConsentStated: event.isConsentStated
                )
            }
        } catch {
            let refusal = Self.refusal(error)
            // If the outcome is open, the event may be there: the claim stays, so that the next request looks for it.
            if !refusal.isOpen { try? await seen.giveBack(digest) }
            return .refused(refusal)
        }
        await record(digest)
        return .accepted
    }

    /// Records an accepted event that doesn't go to the store, so that a repetition is recognized.
    func note(_ event: EventRequest) async { await record(SeenEvents.digest(event.id)) }

    /// Records that an event was accepted; a record that can't be written is kept in memory until it can be.
    private func record(_ digest: String) async {
        _ = recent.insert(seen.key(digest, day: seen.today))
        do throws(ExperimentationError) {
            try await seen.insert(digest)
            unrecorded.remove(digest)
        } catch {
            _ = unrecorded.insert(digest)
        }
    }

    /// Whether this instance knows from its own memory that an event was accepted today or yesterday.
    private func wasAcceptedLately(_ event: EventRequest) -> Bool {
        let (digest, today) = (SeenEvents.digest(event.id), seen.today)
        return [today, today - 1].contains { recent.contains(seen.key(digest, day: $0)) }
    }

    /// Deletes the ids of past days; called periodically.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled`; the next call continues.
    func forget() async throws(ExperimentationError) { try await forgetting.look() }

    private static func refusal(_ error: ExperimentationError) -> EventRefusal {
        EventRefusal(error.code, error.message)
    }
}

extension EventRefusal {
    fileprivate static let unsupported = EventRefusal(
        .unsupported,
        "The vendor has no word for this event, or its content is invalid."
    )
}

extension ExperimentationClient {
    /// Whether an event won't be refused for its kind or content once the store is back.
    fileprivate func takes(_ event: EventRequest) -> Bool {
        if case .consentChanged = event.event.kind { true } else { supports(event.event) }
    }
}
