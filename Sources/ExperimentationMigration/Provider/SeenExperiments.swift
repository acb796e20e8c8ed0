import Experimentation
import Foundation

/// The experiments that appear in the answers of a vendor that publishes no rules; kept in the store, so that every
/// instance and the command line know them.
actor SeenExperiments {
    private struct Seen: Codable, Equatable {
        var name: String
        /// The group's variations.
        var variations: Set<String>
    }

    private let state: any StateStore
    /// What was seen, by group; `nil` before the first answer.
    private var seen: [String: Seen]?
    private static let key = "migration/experiments"

    init(in context: ProviderContext) { state = SealedState(context.state, log: context.environment.log) }

    /// Adds the experiments of an answer.
    func note(_ decisions: Decisions) async {
        let isFirst = seen == nil
        var all = seen ?? [:]
        for assignment in decisions.catalogue.assignments where !assignment.isHoldout {
            all[assignment.group, default: Seen(name: assignment.experiment.id, variations: [])]
                .variations.insert(assignment.variation.id)
        }
        guard isFirst || all != seen else { return }
        seen = all
        try? await keep(all)
    }

    /// Returns what any instance has seen; `nil` if there was no answer yet.
    func experiments() async throws(ExperimentationError) -> [VendorExperiment]? {
        if let bytes = try await state.value(for: Self.key) { seen = Self.merged(seen ?? [:], Self.read(bytes)) }
        return seen?.sorted { $0.key < $1.key }.map { group, seen in
            VendorExperiment(
                Experiment(id: seen.name),
                group: group,
                arms: seen.variations.sorted().map { VendorExperiment.Arm(Variation(id: $0)) }
            )
        }
    }

    private func keep(_ own: [String: Seen]) async throws(ExperimentationError) {
        var written = try await state.value(for: Self.key)
        while true {
            let all = Self.merged(own, written.map(Self.read) ?? [:])
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            guard let data = try? encoder.encode(all) else { return }
            guard case .conflict(let other) = try await state.update(Self.key, to: Array(data), if: written) else {
                return
            }
            written = other
        }
    }

    private static func merged(_ one: [String: Seen], _ two: [String: Seen]) -> [String: Seen] {
        one.merging(two) { Seen(name: $0.name, variations: $0.variations.union($1.variations)) }
    }

    private static func read(_ bytes: [UInt8]) -> [String: Seen] {
        (try? JSONDecoder().decode([String: Seen].self, from: Data(bytes))) ?? [:]
    }
}
