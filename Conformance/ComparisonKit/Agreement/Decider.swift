import ConformanceKit
import Experimentation

/// A vendor that decides which variation a user gets: one of the two sides of an agreement.
public struct Decider: Sendable {
    /// Who works it out.
    public enum Source: Sendable {
        /// Rules, evaluated here.
        case computed(any Ruleset)
        /// The vendor, which is asked for each user.
        case asked(any DecisionSource)
    }

    /// The vendor's name, or that of the file its rules come from.
    public var name: String
    /// Who works it out.
    public var source: Source
    /// Whether an assignment of before can be handed over, so that the user keeps it.
    public var keepsAssignments: Bool
    /// The experiments that are looked at.
    public var experiments: [TestedExperiment]

    /// Creates a side.
    public init(name: String, source: Source, keepsAssignments: Bool, experiments: [TestedExperiment]) {
        self.name = name
        self.source = source
        self.keepsAssignments = keepsAssignments
        self.experiments = experiments
    }

    /// Creates a side from a provider: its rules are fetched, if it has any.
    ///
    /// - Parameters:
    ///   - name: What to call it.
    ///   - provider: A provider that hasn't been started.
    ///   - experiments: The experiments to look at.
    ///   - context: What the provider is started in.
    /// - Throws: `ErrorCode.unsupported` when the vendor decides nothing, and what the provider throws.
    public init(
        name: String,
        provider: any ExperimentationProvider,
        experiments: [TestedExperiment],
        in context: ProviderContext = ProviderContext()
    ) async throws(ExperimentationError) {
        let roles = try await provider.start(in: context)
        let source: Source
        switch roles.decisions {
        case nil: throw ExperimentationError(.unsupported, "\(name) decides nothing, so nothing can agree")
        case .asked(let asked): source = .asked(asked)
        case .computed(let rules):
            guard case .replaced(let ruleset, _, _) = try await rules.ruleset(ifNot: nil) else {
                throw ExperimentationError(.unsupported, "\(name) has switched itself off")
            }
            source = .computed(ruleset)
        }
        self.init(
            name: name,
            source: source,
            keepsAssignments: roles.assignments.isSticky,
            experiments: experiments
        )
    }

    /// Creates a side from rules that are at hand, as a vendor's own file has them.
    ///
    /// - Parameters:
    ///   - name: What to call it.
    ///   - raw: The rules, as the provider's own source stores them.
    ///   - provider: A provider of the vendor, configured in any way: it isn't asked for anything.
    ///   - experiments: The experiments to look at.
    /// - Throws: When the rules can't be read.
    public init(
        name: String,
        restoring raw: [UInt8],
        with provider: any ExperimentationProvider,
        experiments: [TestedExperiment]
    ) async throws(ExperimentationError) {
        let roles = try await provider.start(in: ProviderContext())
        guard case .computed(let rules) = roles.decisions else {
            throw ExperimentationError(.unsupported, "\(name) publishes no rules")
        }
        self.init(
            name: name,
            source: .computed(try rules.ruleset(restoring: raw)),
            keepsAssignments: roles.assignments.isSticky,
            experiments: experiments
        )
    }

    /// Decides for a user.
    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> Decisions {
        switch source {
        case .computed(let ruleset): return ruleset.decisions(for: context)
        case .asked(let source):
            guard case .decided(let decisions) = try await source.decisions(for: context) else {
                throw ExperimentationError(.unsupported, "\(name) has switched itself off")
            }
            return decisions
        }
    }
}
