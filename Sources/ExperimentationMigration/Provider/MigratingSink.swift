import Experimentation

/// Delivers the events owed to one vendor of a move, independently of the other.
struct MigratingSink: EventSink {
    let migration: Migration
    let side: MigrationSide
    let sink: any EventSink

    var batching: BatchPolicy { sink.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        let stage = migration.stage
        let name = migration.party(side).name
        guard stage.sendsEvents(to: side) else {
            throw ExperimentationError(.unsupported, "\(name) is sent nothing in the stage \(stage).")
        }
        if case .exposure(let exposure) = event.kind {
            let answered = MarkedCatalogues.side(of: exposure.assignment) ?? stage.leader
            guard answered == nil || answered == side else {
                throw ExperimentationError(.unsupported, "The exposure belongs to the vendor that answered.")
            }
        }
        try sink.check(event)
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let party = migration.party(side)
        let stage = migration.stage
        // Pauses this route only; the other vendor's events go on.
        if party.isOff { return DeliveryReport(.outage(after: .seconds(30), because: .disabled)) }
        var report = await sink.deliver(batch.map(\.withoutMark))
        if report.isDisabled {
            await party.setOff(true)
            report.isDisabled = stage.leader == side
        }
        if !stage.mayLead(side) { report.campaigns = [] }
        for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
            count(envelope)
        }
        return report
    }

    private func count(_ envelope: Envelope) {
        if case .exposure(let exposure) = envelope.event.kind {
            let user = StableKey(envelope.identity).text
            migration.tally.expose(exposure.assignment, user: user, to: side, in: migration.stage)
        } else if let other = migration.party(side.other).roles.events, (try? other.check(envelope.event)) == nil {
            migration.tally.refuse(by: side.other)
        }
    }
}
