/// Application code that runs with every evaluation: OpenFeature's hook, with its four stages.
///
/// The stages of an evaluation run in this order: ``before(_:data:)``, the evaluation, ``after(_:details:data:)`` or
/// ``error(_:error:data:)``, ``finally(_:details:data:)``. Several hooks run *before* in the order client, call,
/// provider, and the other stages in reverse. Evaluation is synchronous, so hooks are too: they must be quick. By
/// default, each stage does nothing.
public protocol Hook: Sendable {
    /// Runs before the evaluation.
    ///
    /// - Parameters:
    ///   - context: The evaluation and its user.
    ///   - data: This hook's own notes for this evaluation.
    /// - Returns: Attributes to lay over the user's for this evaluation, or `nil`. They have an effect where a client
    ///   evaluates for a user, but not in a session, whose decisions have already been made.
    /// - Throws: An error to return the default with its code; the other hooks' *before* is then skipped.
    func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes?

    /// Runs after an evaluation that found a value.
    ///
    /// - Throws: An error to return the default with its code.
    func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError)

    /// Runs when an evaluation, or a hook before this one, has failed.
    func error(_ context: HookContext, error: ExperimentationError, data: inout HookData)

    /// Runs at the end, whatever happened.
    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData)
}

extension Hook {
    /// Does nothing.
    public func before(_ context: HookContext, data: inout HookData) throws(ExperimentationError) -> Attributes? { nil }
    /// Does nothing.
    public func after(
        _ context: HookContext,
        details: EvaluationDetails<FlagValue>,
        data: inout HookData
    ) throws(ExperimentationError) {}
    /// Does nothing.
    public func error(_ context: HookContext, error: ExperimentationError, data: inout HookData) {}
    /// Does nothing.
    public func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {}
}

/// What a hook can read about an evaluation; immutable.
public struct HookContext: Sendable {
    /// The types that a flag can be read as.
    public enum ValueType: String, Sendable, Hashable, Codable {
        /// True or false.
        case bool
        /// A whole number.
        case int
        /// A number.
        case double
        /// A text.
        case string
        /// An object or a list.
        case object
    }

    /// The flag's key as requested.
    public let flagKey: String
    /// The requested type.
    public let type: ValueType
    /// The caller's default.
    public let defaultValue: FlagValue
    private let scope: HookScope
    /// The caller's hints for hooks.
    public let hints: [String: FlagValue]
    private let box: ContextBox

    init(
        flagKey: String,
        type: ValueType,
        defaultValue: FlagValue,
        scope: HookScope,
        hints: [String: FlagValue],
        box: ContextBox
    ) {
        self.flagKey = flagKey
        self.type = type
        self.defaultValue = defaultValue
        self.scope = scope
        self.hints = hints
        self.box = box
    }

    /// The client's name, if it has one.
    public var clientName: String? { scope.clientName }
    /// The provider's name.
    public var providerName: String { scope.providerName }
    /// The user and everything else that the decision depends on.
    public var evaluationContext: EvaluationContext { box.context }
    /// The user's id, or else their anonymous one; empty if they have neither.
    public var targetingKey: String {
        box.context.user.id.isEmpty ? box.context.user.anonymousID ?? "" : box.context.user.id
    }

    func with(_ context: EvaluationContext) -> HookContext {
        HookContext(
            flagKey: flagKey,
            type: type,
            defaultValue: defaultValue,
            scope: scope,
            hints: hints,
            box: ContextBox(context)
        )
    }
}

/// One hook's notes for one evaluation, passed from its early stages to its later ones.
public struct HookData: Sendable {
    private var values: [String: FlagValue] = [:]

    init() {}

    /// The note with a name; setting `nil` removes it.
    public subscript(name: String) -> FlagValue? {
        get { values[name] }
        set { values[name] = newValue }
    }
}

/// The data that all evaluations of a client share.
final class HookScope: Sendable {
    let clientName: String?
    let providerName: String

    init(clientName: String?, providerName: String) {
        self.clientName = clientName
        self.providerName = providerName
    }
}
