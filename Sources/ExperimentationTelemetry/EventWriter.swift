import Experimentation
import Logging
import Tracing

/// Something to be logged or measured on the relay's thread.
enum TelemetryItem: Sendable {
    case evaluation(EvaluationDetails<FlagValue>, HookContext, ServiceContext?)
    case exposure(Exposure, User, provider: String, ServiceContext?)
    case measure(@Sendable () -> Void)
}

/// Writes the queued events; called on the relay's thread.
struct EventWriter: Sendable {
    let logger: Logger?
    let meters: Meters?
    let options: TelemetryOptions

    func write(_ items: [TelemetryItem], dropped: Int) {
        for item in items {
            switch item {
            case .evaluation(let details, let context, let place):
                let told = EventAttributes(of: details, by: context.providerName, for: context.targetingKey, options)
                log(FlagAttribute.event, options.evaluationLevel, told, at: place)
            case .exposure(let exposure, let user, let provider, let place):
                let told = EventAttributes(of: exposure, of: user, by: provider, options)
                log(Telemetry.exposureEvent, options.exposureLevel, told, at: place)
            case .measure(let measure): measure()
            }
        }
        if dropped > 0 {
            meters?.dropped(dropped)
            logger?.warning(
                "\(dropped) events were left out: more came than the log takes.",
                metadata: ["event.name": "experimentation.telemetry.dropped", "count": "\(dropped)"]
            )
        }
    }

    private func log(_ event: String, _ level: Logger.Level, _ told: EventAttributes, at place: ServiceContext?) {
        guard let logger else { return }
        let metadata = told.metadata(of: event)
        // Restores the context of the read, so that a metadata provider finds its trace on this thread.
        ServiceContext.withValue(place) {
            logger.log(level: level, "\(event)", metadata: metadata, source: "Experimentation")
        }
    }
}
