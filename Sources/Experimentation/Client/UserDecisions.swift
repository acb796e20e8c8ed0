/// The decisions for one user without a session at one time; independent of what the client caches.
///
/// ```swift
/// let ada = try await client.decisions(for: User(id: "ada"))
/// let color = ada.string("btnColor", default: "red")
/// ```
///
/// Reading never waits or throws. The first read that reveals the variation of an experiment records an exposure, by
/// the client's ``ExposurePolicy``. Once the decisions expire, reads have reason ``Reason/stale`` and their age.
public struct UserDecisions: Sendable {
    /// The user, with all attributes that were known.
    public let user: User
    private let core: ClientCore
    private let context: EvaluationContext
    private let held: HeldDecisions

    init(core: ClientCore, context: EvaluationContext, held: HeldDecisions) {
        (user, self.core, self.context, self.held) = (context.user, core, context, held)
    }

    /// The decisions themselves; inspecting them records nothing.
    public var decisions: Decisions { held.decisions }

    /// Whether these are the last good decisions and a newer answer is overdue; their reads then have reason
    /// ``Reason/stale``.
    public var isStale: Bool { held.standing != .good }

    /// The identifier of the rules that decided, as the provider gave it; `nil` if there is none, and for a vendor
    /// that is asked for each user.
    public var rulesValidator: String? { held.validator }

    /// The keys of the user's flags, in the vendor's order.
    public var keys: [String] { held.decisions.keys }

    /// The user's assignments to experiments and holdouts, each once, in the vendor's order.
    public var assignments: [Assignment] { held.decisions.assignments }

    /// What a flag resolves to for the user, or `nil`; inspecting it records nothing.
    public subscript(key: String) -> Resolution? { held.decisions[key] }

    // MARK: Exposures

    /// Records that the user saw the variation of an experiment, whatever the exposure policy.
    ///
    /// It is stored shortly afterwards, like an exposure from a read. Once ``ExperimentationClient/untilStored()``
    /// returns, it survives the end of the process.
    ///
    /// - Parameters:
    ///   - experiment: The experiment's id or name.
    ///   - isConsentStated: Whether ``User/consent`` is the user's own choice; see
    ///     ``ExperimentationClient/track(_:for:at:id:isConsentStated:)``.
    /// - Throws: ``ErrorCode/invalidArgument`` if the user isn't assigned to it; ``ErrorCode/unsupported`` if the
    ///   vendor takes no exposures.
    public func expose(_ experiment: String, isConsentStated: Bool = true) throws(ExperimentationError) {
        let place = assignments.first { $0.experiment.id == experiment || $0.experiment.name == experiment }
        guard let place else {
            throw ExperimentationError(.invalidArgument, "The user has no place in the experiment \"\(experiment)\".")
        }
        try core.checkExposure(of: place)
        core.noteExposure(
            Exposure(assignment: place),
            user,
            isRepeatable: false,
            isStated: isConsentStated
        )
    }

    // MARK: Values

    /// The Boolean value of a flag, or the default.
    public func bool(_ key: String, default defaultValue: Bool) -> Bool { evaluate(key, defaultValue).value }
    /// The whole-number value of a flag, or the default.
    public func int(_ key: String, default defaultValue: Int) -> Int { evaluate(key, defaultValue).value }
    /// The numeric value of a flag, or the default.
    public func double(_ key: String, default defaultValue: Double) -> Double { evaluate(key, defaultValue).value }
    /// The text value of a flag, or the default.
    public func string(_ key: String, default defaultValue: String) -> String { evaluate(key, defaultValue).value }
    /// The object or list value of a flag, or the default.
    public func object(_ key: String, default defaultValue: FlagValue) -> FlagValue {
        evaluate(key, defaultValue).value
    }

    // MARK: Details

    /// The Boolean value of a flag, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Bool,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Bool> { evaluate(key, defaultValue, options) }
    /// The whole-number value of a flag, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Int,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Int> { evaluate(key, defaultValue, options) }
    /// The numeric value of a flag, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: Double,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Double> { evaluate(key, defaultValue, options) }
    /// The text value of a flag, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: String,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<String> { evaluate(key, defaultValue, options) }
    /// The object or list value of a flag, with the reason for it.
    public func details(
        _ key: String,
        default defaultValue: FlagValue,
        options: EvaluationOptions? = nil
    ) -> EvaluationDetails<FlagValue> { evaluate(key, defaultValue, options) }

    /// The value of a flag as an application's type, or the default.
    public func value<Value: Decodable & Sendable>(
        _ key: String,
        as type: Value.Type = Value.self,
        default defaultValue: Value
    ) -> Value {
        let none = RawFlag(flagValue: .null)
        let reading = core.reading(key, none, context, nil) { [core, held] _ in core.read(key, none, from: held) }
        let (details, isRevealing) = reading.reading.details.decoded(default: defaultValue) {
            DecodedFlags.decoded($0, as: type)
        }
        if isRevealing { core.recordExposure(of: reading, key, none, context.user) }
        return details.value
    }

    private func evaluate<Value: FlagReadable>(
        _ key: String,
        _ defaultValue: Value,
        _ options: EvaluationOptions? = nil
    ) -> EvaluationDetails<Value> {
        core.evaluate(key, defaultValue, context, options) { [core, held] _ in core.read(key, defaultValue, from: held)
        }
    }
}
