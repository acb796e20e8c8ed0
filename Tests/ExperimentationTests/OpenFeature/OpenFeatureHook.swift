import Experimentation
import Synchronization

/// A hook that records its calls and may override the user's attributes.
final class OpenFeatureHook: Hook {
    struct Call: Sendable {
        var stage: String
        var hook: String
        var details: EvaluationDetails<FlagValue>?
    }

    private let name: String
    private let attributes: Attributes?
    private let calls: Calls

    /// Records the calls of several hooks in order.
    final class Calls: Sendable {
        private let state = Mutex<[Call]>([])
        var all: [Call] { state.withLock { $0 } }
        func append(_ call: Call) { state.withLock { $0.append(call) } }
        func stages(of hook: String) -> [String] { all.filter { $0.hook == hook }.map(\.stage) }
    }

    init(_ name: String = "hook", attributes: Attributes? = nil, calls: Calls) {
        self.name = name
        self.attributes = attributes
        self.calls = calls
    }

    func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? {
        calls.append(Call(stage: "before", hook: name))
        return attributes
    }

    func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) {
        calls.append(Call(stage: "after", hook: name, details: details))
    }

    func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {
        calls.append(Call(stage: "error", hook: name))
    }

    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        calls.append(Call(stage: "finally", hook: name, details: details))
    }
}
