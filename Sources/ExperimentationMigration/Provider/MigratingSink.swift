import Experimentation

/// Delivers the events owed to one destination of a vendor of a move, independently of the other vendor.
struct MigratingSink: EventSink {
    let migration: Migration
    let side: MigrationSide
    let sink: any EventSink
    let destination: Destination
    /// Whether the vendor's kill switch stops deliveries here; if not, the sink has a switch of its own, or none.
    let heedsKillSwitch: Bool
    /// How long the vendor's events wait while its kill switch is on, before it is asked again.
    private static let pause = Duration.seconds(30)

    private var party: Party { migration.party(side) }

    var batching: BatchPolicy { sink.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        let standing = migration.standing
        switch event.kind {
        case .exposure(let exposure):
            // Holds in any stage: a session may still show what a vendor answered in an earlier one. An assignment
            // without a mark was decided before there was a move.
            guard MarkedCatalogues.side(of: exposure.assignment) ?? .old == side else {
                throw ExperimentationError(.unsupported, "The exposure belongs to the vendor that answered.")
            }
        case .consentChanged(granted: false) where migration.mayHaveReached(side): break
        default:
            guard standing.stage.sendsEvents(to: side) else {
                throw ExperimentationError(
                    .unsupported,
                    "\(party.name) is sent nothing in the stage \(standing.stage)."
                )
            }
        }
        try sink.check(event)
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        // A move between vendors without decisions learns of other stages only here.
        let stage = (try? await migration.current())?.stage ?? migration.stage
        // Pauses this vendor's routes only; the other vendor's events go on.
        if party.isOff, await !party.isOnAgain(for: batch.first?.identity, every: Self.pause), heedsKillSwitch {
            return DeliveryReport(.outage(after: Self.pause, because: .disabled))
        }
        var report = await sink.deliver(batch.map(\.withoutMark))
        if report.isDisabled {
            await party.setOff(true)
            report.isDisabled = stage.leader == side
        } else if party.roles.decisions == nil {
            await party.setOff(false)
        } else if !heedsKillSwitch, !stage.asks(side), report.hasOutage(in: batch.count) {
            // One of several vendors may be off by itself, and notices only when it is asked for decisions.
            _ = await party.isOnAgain(for: batch.first?.identity, every: Self.pause)
        }
        if !stage.mayLead(side), !isShared { report.campaigns = [] }
        for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
            count(envelope, stage)
        }
        // Counts that the store can't take now are written with the next batch.
        try? await migration.noteAlarms()
        try? await migration.noteUnsupported()
        return report
    }

    /// Whether the other vendor has the destination too.
    private var isShared: Bool { migration.party(side.other).routes.contains { $0.destination == destination } }

    private func count(_ envelope: Envelope, _ stage: MigrationStage) {
        if case .exposure(let exposure) = envelope.event.kind {
            // At a shared destination, this may be an exposure of the other vendor.
            let side = MarkedCatalogues.side(of: exposure.assignment) ?? .old
            guard counts(envelope.withoutMark.event, at: side) else { return }
            let user = StableKey(envelope.identity).text
            let answered = MarkedCatalogues.stage(of: exposure.assignment) ?? stage
            migration.tally.expose(exposure.assignment, user: user, to: side, in: answered)
        } else if stage.sendsEvents(to: side.other), counts(envelope.event, at: side),
            migration.party(side.other).destination(taking: envelope.event) == nil
        {
            migration.tally.refuse(by: side.other)
        }
    }

    /// Whether an event that was delivered here counts: with several destinations of a vendor, only at the first.
    private func counts(_ event: TrackingEvent, at side: MigrationSide) -> Bool {
        let party = migration.party(side)
        return party.routes.count == 1 || party.destination(taking: event) == destination
    }
}

extension MigrationStage {
    /// Whether a vendor is asked for decisions, if only in the shadow.
    fileprivate func asks(_ side: MigrationSide) -> Bool { mayLead(side) || hasShadow }
}

extension DeliveryReport {
    fileprivate func hasOutage(in count: Int) -> Bool {
        verdicts(count: count).contains { if case .outage? = $0 { true } else { false } }
    }
}
