import Foundation
import Synchronization

/// Accepts events, stores them and has them delivered: in order per user, at least once, to each destination
/// independently.
///
/// One ``Intake`` stores accepted events, and one ``Deliverer`` for each destination delivers them. A hold on
/// deliveries (no network, the kill switch, wrong settings) doesn't affect acceptance.
final class Outbox: Sendable {
    let store: any OutboxStore
    let kept: KeptState
    let routes: [EventRoute]
    /// Whether the first route decides about an event before it comes here.
    private let isFirstAsked: Bool
    let deliverers: [Deliverer]
    let tasks: [Task<Void, Never>]
    let intake: Intake
    let owed: OwedDenials
    let counters: EventCounters
    let environment: ClientEnvironment
    private let hasLoggedLateExposure = Atomic(false)
    let denials = DenialsUnderWay()

    /// Creates an outbox that delivers nothing before ``resume()``.
    ///
    /// - Parameters:
    ///   - store: Where events are kept.
    ///   - kept: Where the debts of a failing store are noted.
    ///   - routes: Where events go, starting with the one that decides whether an event is accepted; each destination
    ///     once.
    ///   - isFirstAsked: Whether there is one that decides; otherwise each route is asked separately.
    ///   - environment: Clock, randomness, ids and log.
    ///   - events: Told of the outcome of deliveries.
    ///   - accepted: Called whenever events have been accepted; must be quick.
    init(
        store: any OutboxStore,
        kept: KeptState,
        routes: [EventRoute],
        isFirstAsked: Bool = true,
        environment: ClientEnvironment,
        events: DeliveryEvents,
        accepted: @escaping @Sendable () -> Void = {}
    ) {
        let owed = OwedDenials(store: store, kept: kept, log: environment.log)
        let counters = EventCounters()
        let deliverers = routes.map { route in
            Deliverer(
                to: route.destination,
                by: route.sink,
                heedsKillSwitch: route.heedsKillSwitch,
                store: store,
                owed: owed,
                events: events,
                counters: counters,
                environment: environment
            )
        }
        self.store = store
        self.kept = kept
        self.routes = routes
        self.isFirstAsked = isFirstAsked
        self.owed = owed
        self.environment = environment
        self.deliverers = deliverers
        self.counters = counters
        intake = Intake(store: store, owed: owed, environment: environment) { events in
            accepted()
            counters.accepted(events)
            let areGranting = events.contains(where: \.grantsConsent)
            for (route, deliverer) in zip(routes, deliverers) {
                // No events means that held ones were released. Those of users who consent with an event may have been
                // released too: only the store knows for which destinations.
                let released = events.isEmpty || areGranting && route.needsConsent ? 1 : 0
                let count = max(released, events.count { $0.isDeliverable(to: deliverer.destination) })
                if count > 0 { deliverer.accepted(count) }
            }
        }
        tasks = deliverers.map { deliverer in Task { await deliverer.run() } }
    }

    deinit { for task in tasks { task.cancel() } }

    // MARK: Statements

    /// Queues an event without waiting; the caller then waits for ``outcome(of:)``.
    ///
    /// - Parameters:
    ///   - envelope: The event.
    ///   - consent: Its user's consent; unknown consent holds it back where consent is needed.
    ///   - isStated: Whether the consent is stated with this event, as by a user without a session.
    /// - Returns: The place.
    func enter(_ envelope: Envelope, consent: Consent, isStated: Bool = false) -> Intake.Ticket {
        intake.enter(.event(event(envelope, consent, isStated)))
    }

    /// Queues an event for a caller that can't wait.
    ///
    /// - Returns: Whether it is queued; not after the client's end.
    func note(_ envelope: Envelope, consent: Consent, isStated: Bool = false) -> Bool {
        intake.note(.event(event(envelope, consent, isStated)))
    }

    /// Logs the first exposure that comes after the client's end: the reader of the flag can't be told.
    func logLateExposure() {
        if hasLoggedLateExposure.exchange(true, ordering: .relaxed) { return }
        environment.log.log(
            .warning,
            "outbox.refused",
            "Exposures are no longer recorded: \(ExperimentationError.shutDown)"
        )
    }

    /// Waits until the store has the statement.
    ///
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store throws.
    func outcome(of ticket: Intake.Ticket) async throws(ExperimentationError) { try await intake.outcome(of: ticket) }

    /// Waits until every earlier statement is in the store, or was refused by it.
    func untilStored() async throws(ExperimentationError) { try await intake.untilStored() }

    /// Waits until every earlier statement is in the store, or couldn't be stored, and until denials are carried
    /// out.
    func drain() async {
        await intake.drain()
        await denials.end()
    }

    private func event(_ envelope: Envelope, _ consent: Consent, _ isStated: Bool) -> NewEvent {
        let mayBeHeld = consent == .unknown && !envelope.event.isConsentSignal
        var deliveries: [NewEvent.Delivery] = []
        for (index, route) in routes.enumerated() {
            // The first route was asked already, if it decides.
            guard isFirstAsked && index == 0 || (try? route.sink.check(envelope.event)) != nil else { continue }
            deliveries.append(.init(to: route.destination, isHeld: mayBeHeld && route.needsConsent))
        }
        var event = NewEvent(envelope, owedTo: deliveries)
        event.grantsConsent = isStated && consent == .granted
        return event
    }
}

extension NewEvent {
    /// Whether the event may be sent to a destination as soon as it is stored.
    fileprivate func isDeliverable(to destination: Destination) -> Bool {
        deliveries.contains { !$0.isHeld && $0.destination == destination }
    }
}
