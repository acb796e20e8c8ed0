import Experimentation

/// The adapter of the guide: a vendor that is asked for flags and takes events, each by one call.
struct LanternProvider: ExperimentationProvider {
    let back: LanternBackEnd

    var name: String { "lantern" }
    var scope: String { "example" }
    var capabilities: Set<Capability> {
        [.flags, .objectFlags, .targeting, .dateTargeting, .versionTargeting, .offlineStart, .tracking, .batching]
    }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self), events: self)
    }
}

extension LanternProvider: DecisionSource {
    var freshness: Freshness { Freshness() }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        do throws(LanternBackEnd.Trouble) {
            let values = try await back.flags(for: context.user.attributes)
            return .decided(
                Decisions(flags: values.map { (key: $0.key, resolution: Resolution($0.value, reason: .unknown)) })
            )
        } catch {
            throw error.translated
        }
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
        do throws(LanternBackEnd.Trouble) {
            try await back.take(batch.map(LanternBackEnd.Event.init))
            return DeliveryReport(.delivered)
        } catch {
            return DeliveryReport(error.verdict)
        }
    }
}

extension LanternBackEnd.Trouble {
    /// What it means for decisions.
    var translated: ExperimentationError {
        switch self {
        case .noAnswer: ExperimentationError(.transport, "Lantern doesn't answer.")
        case .status(401, _), .status(403, _): ExperimentationError(.unauthorized, "Lantern refuses the credentials.")
        case .status(let status, _): ExperimentationError(.vendorFault, "Lantern answers \(status).")
        case .nonsense: ExperimentationError(.parseError, "Lantern's answer can't be read.")
        }
    }

    /// What it means for a batch of events.
    var verdict: Verdict {
        switch self {
        case .status(401, _), .status(403, _): .stop(translated)
        case .status(413, _): .split("too large")
        case .status(let status, _) where (400..<500).contains(status) && ![408, 425, 429].contains(status):
            .failed("Lantern answers \(status).")
        case .status(_, let seconds): .outage(after: seconds.map { .seconds($0) })
        case .noAnswer, .nonsense: .outage()
        }
    }
}
