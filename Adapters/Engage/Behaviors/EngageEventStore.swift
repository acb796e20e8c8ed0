import Experimentation
import Foundation

/// The queries and deletions of the reference's event store, over the client's outbox.
///
/// ```swift
/// let events = engage.eventStore(of: client)
/// let id = try await session.trackWithID(.goalCompleted("LISTENED TO MVSTERMIND"))
/// let event = try await events.event(id: id)
/// ```
///
/// It includes all waiting events, and at least the latest 960 delivered and dropped ones; ``Engage/eventStates(in:)``
/// counts all of them.
public struct EngageEventStore: Sendable {
    let engage: Engage
    let client: ExperimentationClient

    /// Returns the event with an id; `nil` if there is none, or it was settled too long ago.
    public func event(id: String) async throws(ExperimentationError) -> EngageEvent? {
        try await all().first { $0.id == id }
    }

    /// Returns the events in the given states: settled ones first, otherwise by age.
    public func events(
        in states: Set<EngageEventState> = Set(EngageEventState.allCases)
    ) async throws(ExperimentationError) -> [EngageEvent] {
        try await all().filter { states.contains($0.state) }
    }

    /// Returns the events that could be posted now: ``EngageEventState/notPosted`` and ``EngageEventState/expired``.
    public func unpostedEvents() async throws(ExperimentationError) -> [EngageEvent] {
        try await events(in: [.notPosted, .expired])
    }

    /// Returns the number of events of a kind, or of all kinds if `nil`.
    public func count(of type: BehaviorType? = nil) async throws(ExperimentationError) -> Int {
        try await all().count { type == nil || $0.type == type }
    }

    /// Returns the number of events that could be posted now.
    public func unpostedCount() async throws(ExperimentationError) -> Int { try await unpostedEvents().count }

    /// Removes all events, including waiting ones, which count as purged.
    public func removeAll() async throws(ExperimentationError) {
        try await client.removeWaitingEvents()
        try await engage.journal.clear()
    }

    /// Removes settled events that are older than the retention period.
    ///
    /// The outbox drops waiting events of that age, and counts them.
    ///
    /// - Returns: How many were removed.
    /// - Throws: `ErrorCode.store`.
    @discardableResult
    public func removeExpired() async throws(ExperimentationError) -> Int {
        let retention = Double(engage.configuration.retentionDays) * 86_400
        return try await engage.journal.forget(before: engage.environment.time.now.addingTimeInterval(-retention))
    }

    private func all() async throws(ExperimentationError) -> [EngageEvent] {
        var waiting: [EngageEvent] = []
        var last: Int64 = 0
        while true {
            let page = try await client.waitingEvents(after: last)
            guard let end = page.last else { break }
            last = end.envelope.sequence
            waiting += page.compactMap(event)
        }
        // An event may still wait although its journal says that it is settled, if the process ended in between.
        let ids = Set(waiting.map(\.id))
        return try await engage.journal.entries().filter { !ids.contains($0.id) } + waiting
    }

    private func event(_ waiting: WaitingEvent) -> EngageEvent? {
        guard let draft = engage.events.translation.draft(of: waiting.envelope.event) else { return nil }
        return EngageEvent(
            id: waiting.envelope.id,
            type: draft.type,
            date: waiting.envelope.date,
            state: engage.completed.state(of: waiting.envelope.id),
            reason: waiting.reason
        )
    }
}

extension Engage {
    /// Returns the queries and deletions of the reference's event store.
    ///
    /// - Parameter client: The client that was created with this provider.
    /// - Returns: The store.
    public func eventStore(of client: ExperimentationClient) -> EngageEventStore {
        EngageEventStore(engage: self, client: client)
    }
}
