import ConformanceKit
import Experimentation

/// A vendor that assigns variations: one side of an agreement.
public struct Decider: Sendable {
    /// Where decisions come from.
    public enum Source: Sendable {
        /// A ruleset, evaluated locally.
        case computed(any Ruleset)
        /// The vendor, asked for each user.
        case asked(any DecisionSource)
    }

    /// The vendor's name, or the name of the file with its rules.
    public var name: String
    /// Where decisions come from.
    public var source: Source
    /// Whether an imported assignment makes the user keep their variation.
    public var keepsAssignments: Bool
    /// The experiments to compare.
    public var experiments: [TestedExperiment]

    /// Creates a side.
    public init(name: String, source: Source, keepsAssignments: Bool, experiments: [TestedExperiment]) {
        self.name = name
        self.source = source
        self.keepsAssignments = keepsAssignments
        self.experiments = experiments
    }

    /// Creates a side from a provider, fetching its ruleset if it has one.
    ///
    /// - Parameters:
    ///   - name: The name of the side.
    ///   - provider: A provider that hasn't been started.
    ///   - experiments: The experiments to compare.
    ///   - context: The context to start the provider in.
    /// - Throws: `ErrorCode.unsupported` when the vendor makes no decisions, and what the provider throws.
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

    /// Creates a side from a ruleset in the vendor's own file format.
    ///
    /// - Parameters:
    ///   - name: The name of the side.
    ///   - raw: The ruleset, as the provider's own source stores it.
    ///   - provider: A provider of the vendor with any configuration; it sends no requests.
    ///   - experiments: The experiments to compare.
    /// - Throws: When the ruleset can't be parsed.
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
