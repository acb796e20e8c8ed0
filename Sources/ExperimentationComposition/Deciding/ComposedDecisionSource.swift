import Experimentation
import Synchronization

/// Combines decisions where at least one vendor is asked for each user: asks all concurrently and keeps a failing
/// vendor's last good answer.
final class ComposedDecisionSource: DecisionSource {
    /// The source of a vendor's decisions.
    enum Origin: Sendable {
        case asked(any DecisionSource)
        case computed(PartRules)

        var freshness: Freshness {
            switch self {
            case .asked(let source):
                return source.freshness
            case .computed(let rules):
                var freshness = rules.source.freshness
                freshness.answerAge = freshness.span ?? .zero
                return freshness
            }
        }
    }

    /// A vendor's answer for a user.
    private enum Answer: Sendable {
        case decided(Decisions, failure: ExperimentationError? = nil)
        case notReady(ExperimentationError)
        /// The vendor is disabled; the decisions, if there are any, only determine which flags are its own.
        case off(Decisions? = nil, failure: ExperimentationError? = nil)

        var decisions: Decisions? {
            switch self {
            case .decided(let decisions, _): decisions
            case .off(let decisions, _): decisions
            case .notReady: nil
            }
        }
    }

    private let parts: Parts
    private let origins: [Origin]
    private let log: any LogSink
    /// The last good answers for recent users.
    private let lastGood: Mutex<LastGood>
    private let removals = UserRemovals()
    let freshness: Freshness
    /// The number of users whose last good answers are kept.
    private static let remembered = 1_000

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - parts: The vendors.
    ///   - origins: The source of each deciding vendor's decisions, in order.
    ///   - log: Where failing vendors are reported.
    init(_ parts: Parts, _ origins: [Origin], log: any LogSink) {
        self.parts = parts
        self.origins = origins
        self.log = log
        lastGood = Mutex(LastGood(limit: Self.remembered))
        freshness = Freshness(of: origins.map(\.freshness))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        try await removals.watching(context.user.id) { watch throws(ExperimentationError) in
            try await decisions(for: context, watch)
        }
    }

    private func decisions(
        for context: EvaluationContext,
        _ watch: UserRemovals.Watch
    ) async throws(ExperimentationError) -> DecisionAnswer {
        let id = ExactText(context.user.id)
        let (before, question) = lastGood.withLock { $0.ask(for: id) }
        let answers = await origins.indices.asyncMap { [self] in await answer(of: $0, context) }
        if parts.deciding.allSatisfy(\.killSwitch.isOn) { return .disabled }
        let failures = answers.compactMap { answer -> ExperimentationError? in
            switch answer {
            case .failure(let error): error
            case .success(.decided(_, let failure)), .success(.off(_, let failure)): failure
            case .success: nil
            }
        }
        if failures.count == answers.count, let first = failures.first { throw first }
        let said = zip(answers, origins.indices).map { answer, index -> Answer in
            switch answer {
            case .success(let said): return said
            case .failure where parts.deciding[index].killSwitch.isOn: return .off()
            case .failure(let error): return before[index].map { .decided($0, failure: error) } ?? .notReady(error)
            }
        }
        if origins.count > 1 {
            let good = answers.map { (try? $0.get())?.decisions }
            lastGood.withLock { if !watch.isRemoved { $0.keep(good, to: question, for: id) } }
        }
        return .decided(merged(said, before))
    }

    /// Removes a user's last good answers.
    func forget(_ userID: String) {
        removals.note(userID)
        lastGood.withLock { $0.remove(ExactText(userID)) }
    }

    private func answer(
        of index: Int,
        _ context: EvaluationContext
    ) async -> Result<Answer, ExperimentationError> {
        let part = parts.deciding[index]
        let throwings = part.killSwitch.throwings
        do throws(ExperimentationError) {
            switch origins[index] {
            case .asked(let source):
                switch try await source.decisions(for: part.context(context)) {
                case .disabled:
                    await part.killSwitch.set(true)
                    return .success(.off())
                case .decided(let decisions):
                    await part.killSwitch.set(false, asOf: throwings)
                    return .success(.decided(decisions))
                }
            case .computed(let rules):
                switch try await rules.current(inSession: context.isOfSession) {
                case nil:
                    await part.killSwitch.set(true)
                    return .success(.off(await rules.lastGood?.decisions(for: part.context(context))))
                case let rules?:
                    let decisions = rules.ruleset.decisions(for: part.context(context))
                    guard let failure = rules.failure else {
                        await part.killSwitch.set(false, asOf: throwings)
                        return .success(.decided(decisions))
                    }
                    report(failure, of: part)
                    // A failure doesn't say that a disabled vendor is back.
                    return .success(
                        part.killSwitch.isOn ? .off(decisions, failure: failure) : .decided(decisions, failure: failure)
                    )
                }
            }
        } catch {
            report(error, of: part)
            return .failure(error)
        }
    }

    private func report(_ error: ExperimentationError, of part: Part) {
        log.log(.warning, "composition.refresh", "No decisions from \(part.name), the others go on: \(error)")
    }

    /// Merges the vendors' answers for one user.
    ///
    /// - Parameters:
    ///   - said: What each vendor says.
    ///   - before: What each vendor said last, which shows the flags of a vendor that says nothing now.
    /// - Returns: The decisions.
    private func merged(_ said: [Answer], _ before: [Int: Decisions]) -> Decisions {
        var assignments: [Assignment] = []
        var places: [[Int: Int]] = []
        var keys = parts.table.names
        for ((index, part), answer) in zip(parts.deciding.enumerated(), said) {
            guard case .decided(let decisions, _) = answer else {
                places.append([:])
                keys += (answer.decisions ?? before[index])?.keys ?? []
                continue
            }
            let indices = decisions.assignmentIndices
            places.append(
                Dictionary(zip(indices, assignments.count...), uniquingKeysWith: { one, _ in one })
            )
            assignments += indices.map { decisions.catalogue.assignments[$0].decided(by: part.name) }
            keys += decisions.keys
        }
        var seen: Set<[UInt8]> = []
        var flags: [(key: String, resolution: Resolution)] = []
        for key in keys where seen.insert(Array(key.utf8)).inserted {
            if let resolution = resolution(of: key, said, places) { flags.append((key, resolution)) }
        }
        return Decisions(flags: flags, assignments: assignments)
    }

    private func resolution(of key: String, _ said: [Answer], _ places: [[Int: Int]]) -> Resolution? {
        let found = parts.table.fallback.first(in: parts.line(for: key)) { index -> Said<Resolution> in
            switch said[index] {
            case .notReady: return .notReady
            case .off: return .off
            case .decided(let decisions, let failure):
                guard let own = decisions[key] else { return .absent }
                var resolution = own.decided(
                    by: parts.deciding[index].name,
                    isStale: failure != nil,
                    assignmentsFrom: 0
                )
                resolution.assignment = own.assignment.flatMap { places[index][$0] }
                return own.error == nil ? .value(resolution) : .faulty(resolution)
            }
        }
        return switch found {
        case .value(let resolution), .faulty(let resolution): resolution
        case .notReady: .notReady
        case .off: .off
        case .absent: nil
        }
    }
}
