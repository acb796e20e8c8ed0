/// Options of a single evaluation.
public struct EvaluationOptions: Sendable {
    /// Hooks of this evaluation alone; they run after the client's.
    public var hooks: [any Hook]
    /// Hints for the hooks.
    public var hints: [String: FlagValue]

    /// Creates options.
    public init(hooks: [any Hook] = [], hints: [String: FlagValue] = [:]) {
        self.hooks = hooks
        self.hints = hints
    }
}
