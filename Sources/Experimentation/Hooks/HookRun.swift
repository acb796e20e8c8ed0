/// One evaluation with hooks around it.
///
/// The hooks' data lives on the stack, so that an evaluation with hooks allocates nothing.
enum HookRun {
    /// Runs the stages around an evaluation.
    ///
    /// - Parameters:
    ///   - hooks: In the order of *before*.
    ///   - context: The evaluation and its user.
    ///   - defaultValue: What to return if anything fails.
    ///   - evaluate: The evaluation itself, with the attributes that hooks laid over the user's, if any.
    /// - Returns: What the caller gets.
    static func around<Value: FlagReadable>(
        _ hooks: [any Hook],
        _ context: HookContext,
        default defaultValue: Value,
        evaluate: (HookContext) -> FlagReading<Value>
    ) -> FlagReading<Value> {
        withUnsafeTemporaryAllocation(of: HookData.self, capacity: hooks.count) { data in
            data.initialize(repeating: HookData())
            defer { data.deinitialize() }
            var context = context
            var reading: FlagReading<Value>
            var details: EvaluationDetails<FlagValue>
            do throws(ExperimentationError) {
                try before(hooks, &context, data)
                reading = evaluate(context)
                details = reading.details.erased
                if details.errorCode == nil { try after(hooks, context, details, data) }
            } catch {
                reading = FlagReader.failure(context.flagKey, defaultValue, error.code, error.message)
                details = reading.details.erased
            }
            if let code = reading.details.errorCode {
                let failure = ExperimentationError(code, reading.details.errorMessage ?? "")
                for index in hooks.indices.reversed() {
                    hooks[index].error(context, error: failure, data: &data[index])
                }
            }
            for index in hooks.indices.reversed() {
                hooks[index].finally(context, details: details, data: &data[index])
            }
            return reading
        }
    }

    private static func before(
        _ hooks: [any Hook],
        _ context: inout HookContext,
        _ data: UnsafeMutableBufferPointer<HookData>
    ) throws(ExperimentationError) {
        for index in hooks.indices {
            guard let attributes = try hooks[index].before(context, data: &data[index]) else { continue }
            var changed = context.evaluationContext
            changed.user.attributes = changed.user.attributes.merging(attributes)
            context = context.with(changed)
        }
    }

    private static func after(
        _ hooks: [any Hook],
        _ context: HookContext,
        _ details: EvaluationDetails<FlagValue>,
        _ data: UnsafeMutableBufferPointer<HookData>
    ) throws(ExperimentationError) {
        for index in hooks.indices.reversed() {
            try hooks[index].after(context, details: details, data: &data[index])
        }
    }
}

extension EvaluationDetails where Value: FlagReadable {
    /// The details without the value's type.
    var erased: EvaluationDetails<FlagValue> {
        EvaluationDetails<FlagValue>(
            flagKey: flagKey,
            value: value.flagValue,
            variant: variant,
            reason: reason,
            errorCode: errorCode,
            errorMessage: errorMessage,
            metadata: metadata,
            age: age
        )
    }
}

extension FlagReadable {
    /// This type's name, for hooks.
    static var valueType: HookContext.ValueType {
        switch Self.self {
        case is Bool.Type: .bool
        case is Int.Type: .int
        case is Double.Type: .double
        case is String.Type: .string
        default: .object
        }
    }
}
