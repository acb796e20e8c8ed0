import Experimentation
import Logging
import Tracing

/// Something to be logged on the relay's thread.
enum TelemetryItem: Sendable {
    case evaluation(EvaluationDetails<FlagValue>, HookContext, ServiceContext?)
    case exposure(Exposure, User, provider: String, ServiceContext?)
}

/// Something to be recorded by a metrics backend, which may block, on the measurements' thread.
///
/// It isn't a ``TelemetryItem``, because a log that blocks may lose events, but no measurements.
typealias MetricRecord = @Sendable () -> Void

/// Writes the queued events; called on the relay's thread.
struct EventWriter: Sendable {
    let logger: Logger?
    let options: TelemetryOptions
    /// Counts what was left out.
    let count: @Sendable (_ dropped: Int) -> Void

    func write(_ items: [TelemetryItem], dropped: Int) {
        for item in items {
            switch item {
            case .evaluation(let details, let context, let place):
                let told = EventAttributes(of: details, by: context.providerName, for: context.targetingKey, options)
                log(FlagAttribute.event, options.evaluationLevel, told, at: place)
            case .exposure(let exposure, let user, let provider, let place):
                let told = EventAttributes(of: exposure, of: user, by: provider, options)
                log(Telemetry.exposureEvent, options.exposureLevel, told, at: place)
            }
        }
        if dropped > 0 {
            count(dropped)
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
