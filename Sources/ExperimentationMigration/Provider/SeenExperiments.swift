import Experimentation

/// The experiments that appear in the answers of a vendor that publishes no rules; kept in the store, so that every
/// instance and the command line know them.
actor SeenExperiments {
    private let state: any StateStore
    private let time: any TimeSource
    /// What was seen; `nil` before the first answer.
    private var seen: SeenGroups?
    /// When to retry a write that failed; `nil` if the store lacks nothing.
    private var retry: ContinuousClock.Instant?
    private static let key = "migration/experiments"
    /// How long a failed store isn't tried again; users come faster than a store recovers.
    private static let patience = Duration.seconds(2)

    init(in context: ProviderContext) {
        state = SealedState(context.state, log: context.environment.log)
        time = context.environment.time
    }

    /// Adds the experiments of an answer.
    ///
    /// Writes at most once an hour and group, unless something new appears. What couldn't be written is written with an
    /// answer a few seconds later.
    func note(_ decisions: Decisions) async {
        let hour = SeenGroups.hour(of: time.now)
        let assignments = decisions.catalogue.assignments
        var all = seen ?? SeenGroups()
        all.note(assignments, at: hour)
        guard all != seen || retry.map({ $0 <= time.instant }) == true else { return }
        seen = all
        // Answers that come meanwhile needn't write the same again.
        retry = nil
        do throws(ExperimentationError) {
            try await keep(assignments, at: hour)
        } catch {
            retry = time.instant.advanced(by: Self.patience)
        }
    }

    /// Returns the experiments that any instance has seen and that may still run; `nil` if there was no answer yet.
    func experiments() async throws(ExperimentationError) -> [VendorExperiment]? {
        if let bytes = try await state.value(for: Self.key) { merge(SeenGroups(stored: bytes)) }
        return seen?.running
    }

    /// Returns for at least how many hours one of these experiments counts as running if it isn't shown again.
    func hoursLeft(of experiments: [VendorExperiment]) -> Int {
        let hour = SeenGroups.hour(of: time.now)
        return experiments.map { seen?.hoursLeft(of: $0.group, at: hour) ?? 0 }.max() ?? 0
    }

    private func keep(_ assignments: [Assignment], at hour: Int) async throws(ExperimentationError) {
        var written = try await state.value(for: Self.key)
        for _ in 0..<32 {
            let kept = written.map { SeenGroups(stored: $0) }
            var all = seen ?? SeenGroups()
            if let kept { all.merge(kept) }
            // Added after the stored ones, whose clock may be ahead.
            all.note(assignments, at: hour)
            guard all.groups != kept?.groups, let bytes = all.stored else { return merge(all) }
            guard case .conflict(let other) = try await state.update(Self.key, to: bytes, if: written) else {
                return merge(all)
            }
            written = other
        }
        throw ExperimentationError(.store, "Other instances keep changing the experiments that were seen.")
    }

    private func merge(_ other: SeenGroups) {
        var all = seen ?? SeenGroups()
        all.merge(other)
        seen = all
    }
}
