import Experimentation

/// Delivers the events owed to one vendor of a move, independently of the other.
struct MigratingSink: EventSink {
    let migration: Migration
    let side: MigrationSide
    let sink: any EventSink
    /// How long the vendor's events wait while its kill switch is on, before it is asked again.
    private static let pause = Duration.seconds(30)

    private var party: Party { migration.party(side) }

    var batching: BatchPolicy { sink.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        let stage = migration.stage
        if case .exposure(let exposure) = event.kind {
            // In any stage: a session may still show what a vendor answered in an earlier one. What has no mark was
            // decided before there was a move.
            guard MarkedCatalogues.side(of: exposure.assignment) ?? .old == side else {
                throw ExperimentationError(.unsupported, "The exposure belongs to the vendor that answered.")
            }
        } else if !stage.sendsEvents(to: side) {
            throw ExperimentationError(.unsupported, "\(party.name) is sent nothing in the stage \(stage).")
        }
        try sink.check(event)
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        // A move between vendors without decisions learns of other stages only here.
        let stage = (try? await migration.current())?.stage ?? migration.stage
        // Pauses this route only; the other vendor's events go on.
        if party.isOff, await !party.isOnAgain(for: batch.first?.identity, every: Self.pause) {
            return DeliveryReport(.outage(after: Self.pause, because: .disabled))
        }
        var report = await sink.deliver(batch.map(\.withoutMark))
        if report.isDisabled {
            await party.setOff(true)
            report.isDisabled = stage.leader == side
        } else if party.roles.decisions == nil {
            await party.setOff(false)
        }
        if !stage.mayLead(side) { report.campaigns = [] }
        for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
            count(envelope, stage)
        }
        // What the store can't take now is written with the next batch.
        try? await migration.noteAlarms()
        try? await migration.noteUnsupported()
        return report
    }

    private func count(_ envelope: Envelope, _ stage: MigrationStage) {
        if case .exposure(let exposure) = envelope.event.kind {
            let user = StableKey(envelope.identity).text
            let answered = MarkedCatalogues.stage(of: exposure.assignment) ?? stage
            migration.tally.expose(exposure.assignment, user: user, to: side, in: answered)
        } else if stage.sendsEvents(to: side.other), !takes(envelope.event, at: side.other) {
            migration.tally.refuse(by: side.other)
        }
    }

    private func takes(_ event: TrackingEvent, at side: MigrationSide) -> Bool {
        guard let other = migration.party(side).roles.events else { return false }
        return (try? other.check(event)) != nil
    }
}
