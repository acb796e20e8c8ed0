import Experimentation
import Synchronization

/// A log that keeps every message, for a test to look at.
public final class RecordingLog: LogSink {
    /// The least important level that is kept.
    public let level: LogLevel
    private let kept = Mutex<[LogEntry]>([])

    /// Creates a log.
    public init(level: LogLevel = .trace) { self.level = level }

    /// Keeps a message.
    public func log(_ entry: LogEntry) { kept.withLock { $0.append(entry) } }

    /// The messages so far.
    public var entries: [LogEntry] { kept.withLock { $0 } }
}

/// A hook that keeps what it was told, for a test to look at.
public final class RecordingHook: Hook {
    /// One stage of one evaluation.
    public struct Call: Sendable {
        /// The stage's name: `before`, `after`, `error` or `finally`.
        public var stage: String
        /// What is evaluated.
        public var context: HookContext
        /// What came of it, in the stages that know.
        public var details: EvaluationDetails<FlagValue>?
        /// What went wrong, in the stage that knows.
        public var error: ExperimentationError?
    }

    private let kept = Mutex<[Call]>([])
    private let attributes: Attributes?

    /// Creates a hook.
    ///
    /// - Parameter attributes: What to lay over the user's attributes, if anything.
    public init(attributes: Attributes? = nil) { self.attributes = attributes }

    /// The calls so far.
    public var calls: [Call] { kept.withLock { $0 } }

    /// Keeps the call.
    public func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
        kept.withLock { $0.append(Call(stage: "before", context: context)) }
        return attributes
    }

    /// Keeps the call.
    public func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) {
        kept.withLock { $0.append(Call(stage: "after", context: context, details: details)) }
    }

    /// Keeps the call.
    public func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {
        kept.withLock { $0.append(Call(stage: "error", context: context, error: error)) }
    }

    /// Keeps the call.
    public func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        kept.withLock { $0.append(Call(stage: "finally", context: context, details: details)) }
    }
}
