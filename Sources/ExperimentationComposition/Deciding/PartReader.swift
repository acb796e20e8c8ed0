import Experimentation

/// The parts of a vendor that a flag read needs.
final class PartReader: Sendable {
    let killSwitch: PartSwitch
    /// The rules from which single flags are read; not optional, so that a read copies nothing.
    private let flags: any Ruleset
    private let ruleset: (any Ruleset)?
    private let isSticky: Bool
    private let allowsOverrides: Bool
    private let seesEverything: Bool

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - part: The vendor.
    ///   - ruleset: Its rules; `nil` if there are none yet.
    init(_ part: Part, _ ruleset: (any Ruleset)?) {
        killSwitch = part.killSwitch
        self.ruleset = ruleset
        flags = ruleset?.reader ?? NoRules()
        isSticky = part.roles.assignments.isSticky
        allowsOverrides = part.roles.assignments.allowsOverrides
        seesEverything = isSticky && allowsOverrides
    }

    func decisions(for context: EvaluationContext) -> Decisions? {
        if seesAll(of: context) { return ruleset?.decisions(for: context) }
        return ruleset?.decisions(for: visible(context))
    }

    /// Returns the index of a flag's outcome.
    @inline(__always)
    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        // Avoids a copy of the context where possible: a copy retains each of its fields.
        if seesEverything || seesAll(of: context) { return flags.outcome(ofFlag: flag, for: context) }
        return flags.outcome(ofFlag: flag, for: visible(context))
    }

    @inline(__always)
    private func seesAll(of context: EvaluationContext) -> Bool {
        (allowsOverrides || context.overrides.isEmpty) && (isSticky || context.earlierAssignments.isEmpty)
    }

    @inline(never)
    private func visible(_ context: EvaluationContext) -> EvaluationContext {
        context.visible(overrides: allowsOverrides, earlierAssignments: isSticky)
    }
}

/// The source of reads for a vendor without rules.
private struct NoRules: Ruleset {
    let catalogue = FlagCatalogue(flags: [], assignments: [])
    func decisions(for context: EvaluationContext) -> Decisions { .none }
    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? { nil }
}

/// The readers of all deciding vendors, accessed without reference counting.
final class PartReaders: Sendable {
    let all: [PartReader]
    // Safe to share: never changed, and `all` keeps the readers alive.
    private nonisolated(unsafe) let bare: UnsafeMutablePointer<Unmanaged<PartReader>>

    init(_ all: [PartReader]) {
        self.all = all
        bare = .allocate(capacity: max(all.count, 1))
        for (index, reader) in all.enumerated() {
            (bare + index).initialize(to: Unmanaged.passUnretained(reader))
        }
    }

    deinit { bare.deallocate() }

    /// Reads through the reader with a valid index.
    @inline(__always)
    func read<Result>(_ index: Int, _ body: (PartReader) -> Result) -> Result {
        bare[index]._withUnsafeGuaranteedRef(body)
    }
}

extension EvaluationContext {
    /// Returns the context without what a vendor doesn't support.
    ///
    /// - Parameters:
    ///   - overrides: Whether it accepts overrides.
    ///   - earlierAssignments: Whether it honors earlier assignments.
    /// - Returns: The reduced copy.
    func visible(overrides: Bool, earlierAssignments: Bool) -> EvaluationContext {
        var copy = self
        if !overrides { copy.overrides = [] }
        if !earlierAssignments { copy.earlierAssignments = [:] }
        return copy
    }
}
