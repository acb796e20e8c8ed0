import Experimentation
import Foundation

/// Has two vendors decide for the same users, and counts where they agree.
public struct AgreementRunner: Sendable {
    /// A user, with earlier assignments by the first vendor.
    public struct Subject: Sendable {
        /// The user.
        public var user: User
        /// The earlier assignments: variation ids by variation group.
        public var assignments: [String: String]

        /// Creates a user.
        public init(_ user: User, assignments: [String: String] = [:]) {
            self.user = user
            self.assignments = assignments
        }
    }

    /// The current vendor.
    public let before: Decider
    /// The new vendor.
    public let after: Decider
    let pairing: Pairing
    private let date: Date
    private let readerBefore: PlaceReader
    private let readerAfter: PlaceReader
    /// The assignment to import for each pair and variation before.
    private let handOvers: [[(group: String, variation: String)?]]

    /// Prepares two vendors.
    ///
    /// - Parameters:
    ///   - before: The current vendor.
    ///   - after: The new vendor.
    ///   - given: Which experiments and variations correspond, where their names don't say.
    ///   - date: The time to decide for.
    public init(from before: Decider, to after: Decider, given: [Pairing.Given] = [], at date: Date) {
        self.before = before
        self.after = after
        self.date = date
        let pairing = Pairing(before.experiments, after.experiments, given: given)
        self.pairing = pairing
        readerBefore = PlaceReader(before)
        let reader = PlaceReader(after)
        readerAfter = reader
        handOvers = pairing.pairs.map { pair in
            pair.variations.map { variation in
                guard let experiment = pair.after, let variation else { return nil }
                return reader.handOver(experiment: experiment, variation: variation)
            }
        }
    }

    /// Empty counts.
    public var nothing: AgreementCount {
        AgreementCount(
            tables: pairing.pairs.map { pair in
                AgreementCount.Table(
                    variationsBefore: pair.before.map { before.experiments[$0].variations.count } ?? 0,
                    variationsAfter: pair.after.map { after.experiments[$0].variations.count } ?? 0
                )
            }
        )
    }

    /// Whether one of the vendors has to be asked for each user.
    public var isAsking: Bool {
        for side in [before, after] { if case .asked = side.source { return true } }
        return false
    }

    /// The number of users that are decided for concurrently: one per thread if decisions are computed, more if a
    /// vendor is asked.
    public var lanes: Int {
        let cores = max(1, ProcessInfo.processInfo.activeProcessorCount)
        return isAsking ? max(16, cores) : cores
    }

    /// Counts a range of users.
    ///
    /// - Parameters:
    ///   - range: The users' numbers.
    ///   - lanes: The number of users to decide for concurrently; ``lanes`` if `nil`.
    ///   - subject: Returns the user with a number; called once for each, from any thread.
    /// - Returns: The counts.
    public func count(
        _ range: Range<Int>,
        lanes: Int? = nil,
        _ subject: @escaping @Sendable (Int) -> Subject
    ) async -> AgreementCount {
        let lanes = max(1, min(lanes ?? self.lanes, range.count))
        return await withTaskGroup(of: AgreementCount.self) { group in
            for lane in 0..<lanes {
                let start = range.lowerBound + range.count * lane / lanes
                let end = range.lowerBound + range.count * (lane + 1) / lanes
                let part = start..<end
                group.addTask { await counted(part, subject) }
            }
            return await group.reduce(into: nothing) { $0.add($1) }
        }
    }

    private func counted(_ range: Range<Int>, _ subject: (Int) -> Subject) async -> AgreementCount {
        var count = nothing
        var scratch = Scratch(before: before.experiments.count, after: after.experiments.count)
        for index in range {
            if Task.isCancelled { break }
            let subject = subject(index)
            do throws(ExperimentationError) {
                try await decide(subject, &scratch)
                note(scratch, in: &count)
            } catch {
                count.unanswered += 1
                count.firstFailure = count.firstFailure ?? error.description
            }
        }
        return count
    }

    /// Reusable buffers for one user's places.
    private struct Scratch {
        var before: [PlaceReader.Place]
        var after: [PlaceReader.Place]
        var imported: [PlaceReader.Place]
        var isHeldOutBefore = false
        var isHeldOutAfter = false

        init(before: Int, after: Int) {
            self.before = Array(repeating: PlaceReader.Place(), count: before)
            self.after = Array(repeating: PlaceReader.Place(), count: after)
            imported = self.after
        }
    }

    private func decide(_ subject: Subject, _ scratch: inout Scratch) async throws(ExperimentationError) {
        var context = EvaluationContext(user: subject.user, earlierAssignments: subject.assignments, date: date)
        scratch.isHeldOutBefore = readerBefore.read(try await before.decisions(for: context), into: &scratch.before)
        context.earlierAssignments = [:]
        scratch.isHeldOutAfter = readerAfter.read(try await after.decisions(for: context), into: &scratch.after)
        scratch.imported = scratch.after
        guard after.keepsAssignments else { return }
        for (index, pair) in pairing.pairs.enumerated() {
            guard let own = pair.before, scratch.before[own].variation >= 0,
                let handOver = handOvers[index][scratch.before[own].variation]
            else { continue }
            context.earlierAssignments[handOver.group] = handOver.variation
        }
        // A user who keeps everything anyway needs no second evaluation.
        if !context.earlierAssignments.isEmpty, changesAnything(scratch) {
            _ = readerAfter.read(try await after.decisions(for: context), into: &scratch.imported)
        }
    }

    private func changesAnything(_ scratch: Scratch) -> Bool {
        for pair in pairing.pairs {
            guard let own = pair.before, let other = pair.after, scratch.before[own].variation >= 0 else { continue }
            if pair.variations[scratch.before[own].variation] != scratch.after[other].variation { return true }
        }
        return false
    }

    private func note(_ scratch: Scratch, in count: inout AgreementCount) {
        count.users += 1
        if scratch.isHeldOutBefore { count.heldOutBefore += 1 }
        if scratch.isHeldOutAfter { count.heldOutAfter += 1 }
        for (index, pair) in pairing.pairs.enumerated() {
            let from = pair.before.map { scratch.before[$0] } ?? PlaceReader.Place()
            let to = pair.after.map { scratch.after[$0] } ?? PlaceReader.Place()
            let imported = pair.after.map { scratch.imported[$0] } ?? PlaceReader.Place()
            count.tables[index].plain[count.tables[index].cell(from.variation, to.variation)] += 1
            count.tables[index].imported[count.tables[index].cell(from.variation, imported.variation)] += 1
            if from.isDrawn { count.tables[index].drawnBefore[from.variation] += 1 }
            if to.isDrawn { count.tables[index].drawnAfter[to.variation] += 1 }
            // An imported assignment counts as drawn, so only the place before shows whether the old vendor has the
            // user on a list.
            let isListed = from.variation >= 0 && !from.isDrawn
            if imported.isDrawn, !isListed { count.tables[index].drawnImported[imported.variation] += 1 }
        }
    }
}
