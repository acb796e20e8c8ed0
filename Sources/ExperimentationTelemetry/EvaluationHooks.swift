import Experimentation
import Logging
import Tracing

/// Queues a log event for each evaluation.
struct EvaluationEvents: Hook {
    let logger: Logger
    let level: Logger.Level
    let relay: Relay<TelemetryItem>

    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        guard logger.logLevel <= level else { return }
        relay.put(.evaluation(details, context, ServiceContext.current))
    }
}

/// Counts each evaluation.
struct EvaluationCounts: Hook {
    let tally: EvaluationTally

    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        tally.add(details, of: context.targetingKey)
    }
}
