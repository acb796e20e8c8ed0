import Experimentation

/// A vendor's sink behind the event table: gets only the events routed to it, and exposures in a form it accepts.
struct RoutedSink: EventSink {
    /// The event table, and the properties of vendors that it needs.
    struct Rules: Sendable {
        var table: EventTable
        var exposures: ExposureEvent
        /// The vendors that accept exposures of their own experiments.
        var takeOwnExposures: Set<String>
    }

    let part: Part
    let sink: any EventSink
    let rules: Rules
    let parts: Parts
    /// How often events check whether a disabled vendor is enabled again.
    private static let offWait: Duration = .seconds(30)

    var batching: BatchPolicy { sink.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        guard let translated = translated(event) else {
            throw ExperimentationError(.unsupported, "No vendor gets events of the type \"\(event.type)\".")
        }
        try sink.check(translated)
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        if part.killSwitch.isOn, isAsked || !part.killSwitch.isDue(every: Self.offWait) {
            return DeliveryReport(.outage(after: Self.offWait), isDisabled: parts.areOff)
        }
        var places: [Int] = []
        var events: [Envelope] = []
        var report = DeliveryReport(noAnswerTo: batch.count)
        for (place, envelope) in batch.enumerated() {
            guard let event = accepted(envelope.event) else {
                report[place] = .rejected(
                    "\(part.name) has no form for an event of the type \"\(envelope.event.type)\""
                )
                continue
            }
            var envelope = envelope
            if case .exposure = envelope.event.kind { envelope.event = event }
            events.append(envelope)
            places.append(place)
        }
        if events.isEmpty { return report }
        var own = await sink.deliver(events)
        if own.isDisabled {
            await part.killSwitch.set(true)
            own.isDisabled = parts.areOff
        } else if part.killSwitch.isOn, !isAsked, own.verdicts(count: events.count).contains(.delivered) {
            await part.killSwitch.set(false)
        }
        report.add(own, at: places)
        return report
    }

    /// Whether anything but a delivery can show that the vendor is on again: a vendor that decided in an earlier
    /// composition may have been off then.
    private var isAsked: Bool {
        part.roles.remoteSwitch != nil || parts.deciding.contains { $0.name == part.name }
    }

    /// Returns the event in the form for this vendor; `nil` if it isn't routed here.
    private func translated(_ event: TrackingEvent) -> TrackingEvent? {
        switch event.kind {
        case .consentChanged: return event
        case .native where part.roles.extras != nil: return event
        case .exposure(let exposure):
            let isOwn = exposure.assignment.provider == part.name
            if isOwn, rules.takeOwnExposures.contains(part.name) { return form(of: exposure, in: event) }
            guard rules.table.sends(event.type, to: part.name) else { return nil }
            // If the deciding vendor counts it, others get it only if the table names them or they count all exposures.
            let isCounted = exposure.assignment.provider.map { rules.takeOwnExposures.contains($0) } ?? false
            if isCounted, part.countsOnlyItsOwn, !rules.table.names(event.type, for: part.name) { return nil }
            return form(of: exposure, in: event)
        default: return rules.table.sends(event.type, to: part.name) ? event : nil
        }
    }

    /// Returns the form of an event that was already accepted, perhaps under another table.
    private func accepted(_ event: TrackingEvent) -> TrackingEvent? {
        guard case .exposure(let exposure) = event.kind else { return event }
        return form(of: exposure, in: event)
    }

    /// Returns an exposure as such if the vendor accepts it, otherwise as a tracking event.
    private func form(of exposure: Exposure, in event: TrackingEvent) -> TrackingEvent {
        let isOwn = exposure.assignment.provider.map { $0 == part.name } ?? true
        guard isOwn ? rules.takeOwnExposures.contains(part.name) : !part.countsOnlyItsOwn else {
            return rules.exposures.event(for: exposure)
        }
        guard part.countsOnlyItsOwn else { return event }
        var exposure = exposure
        exposure.assignment = exposure.assignment.asGiven
        return TrackingEvent(.exposure(exposure), attributes: event.attributes)
    }
}
