import Experimentation

/// The routes of both vendors' events, each behind the stages.
struct MigratingRoutes {
    private(set) var all: [EventRoute] = []

    /// Creates the routes of a move.
    ///
    /// - Parameters:
    ///   - migration: The move.
    ///   - needsConsent: Whether either vendor needs consent; a route may need it by itself.
    init(_ migration: Migration, needsConsent: Bool) {
        let sinks = MigrationSide.allCases.map { Self.sinks(of: migration.party($0), in: migration) }
        for (index, route) in migration.old.routes.enumerated() {
            let old = sinks[0][index]
            // A destination of both vendors, such as one file beside either, is owed each event once.
            let shared = zip(migration.new.routes, sinks[1]).first { $0.0.destination == route.destination }
            let sink: any EventSink = shared.map { SharedSink(old: old, new: $0.1) } ?? old
            add(sink, route, needsConsent || shared?.0.needsConsent == true)
        }
        for (route, sink) in zip(migration.new.routes, sinks[1])
        where !migration.old.routes.contains(where: { $0.destination == route.destination }) {
            add(sink, route, needsConsent)
        }
    }

    private static func sinks(of party: Party, in migration: Migration) -> [MigratingSink] {
        party.routes.map { route in
            MigratingSink(
                migration: migration,
                side: party.side,
                sink: route.sink,
                destination: route.destination,
                heedsKillSwitch: route.heedsKillSwitch
            )
        }
    }

    private mutating func add(_ sink: any EventSink, _ route: EventRoute, _ needsConsent: Bool) {
        var own = EventRoute(to: route.destination, by: sink, needsConsent: needsConsent || route.needsConsent)
        // A vendor's kill switch stops only its own events, which its sink handles.
        own.heedsKillSwitch = false
        all.append(own)
    }
}

/// Delivers to a destination of both vendors of a move: each event that either vendor is owed, once.
private struct SharedSink: EventSink {
    let old: MigratingSink
    let new: MigratingSink

    var batching: BatchPolicy { old.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        do throws(ExperimentationError) {
            try old.check(event)
        } catch {
            guard (try? new.check(event)) == nil else { return }
            throw error
        }
    }

    // Uses one sink only: two would write one file side by side.
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { await old.deliver(batch) }
}
