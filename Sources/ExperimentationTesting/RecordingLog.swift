import Experimentation
import Synchronization

/// A log that keeps every message, for inspection by a test.
public final class RecordingLog: LogSink {
    /// The lowest level to keep.
    public let level: LogLevel
    private let kept = Mutex<[LogEntry]>([])

    /// Creates a log.
    public init(level: LogLevel = .trace) { self.level = level }

    /// Keeps a message.
    public func log(_ entry: LogEntry) { kept.withLock { $0.append(entry) } }

    /// The messages so far.
    public var entries: [LogEntry] { kept.withLock { $0 } }
}

/// A hook that records its calls, for inspection by a test.
public final class RecordingHook: Hook {
    /// One stage of one evaluation.
    public struct Call: Sendable {
        /// The stage's name: `before`, `after`, `error` or `finally`.
        public var stage: String
        /// The evaluation.
        public var context: HookContext
        /// The result, in the stages that have one.
        public var details: EvaluationDetails<FlagValue>?
        /// The error, in the stage that has one.
        public var error: ExperimentationError?
    }

    private let kept = Mutex<[Call]>([])
    private let attributes: Attributes?

    /// Creates a hook.
    ///
    /// - Parameter attributes: Attributes to lay over the user's, if any.
    public init(attributes: Attributes? = nil) { self.attributes = attributes }

    /// The calls so far.
    public var calls: [Call] { kept.withLock { $0 } }

    /// Records the call.
    public func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
        kept.withLock { $0.append(Call(stage: "before", context: context)) }
        return attributes
    }

    /// Records the call.
    public func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) {
        kept.withLock { $0.append(Call(stage: "after", context: context, details: details)) }
    }

    /// Records the call.
    public func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {
        kept.withLock { $0.append(Call(stage: "error", context: context, error: error)) }
    }

    /// Records the call.
    public func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        kept.withLock { $0.append(Call(stage: "finally", context: context, details: details)) }
    }
}
