import Experimentation

/// The adapter of the guide: a vendor that is asked for flags and takes events, each by one call.
struct LanternProvider: ExperimentationProvider {
    let back: LanternBackEnd

    var name: String { "lantern" }
    var scope: String { "example" }
    var capabilities: Set<Capability> { [.flags, .objectFlags, .targeting, .offlineStart, .tracking, .batching] }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self), events: self)
    }
}

extension LanternProvider: DecisionSource {
    var freshness: Freshness { Freshness() }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let values = try await back.flags(for: context.user.id, context.user.attributes.values)
        return .decided(
            Decisions(flags: values.map { (key: $0.key, resolution: Resolution($0.value, reason: .unknown)) })
        )
    }
}

extension LanternProvider: EventSink {
    var batching: BatchPolicy { BatchPolicy(count: 20) }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        guard case .custom = event.kind else {
            throw ExperimentationError(.unsupported, "Lantern has no word for \(event.type).")
        }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        do throws(ExperimentationError) {
            try await back.take(batch.map(LanternBackEnd.Event.init))
            return DeliveryReport(.delivered)
        } catch {
            return DeliveryReport(.outage())
        }
    }
}
