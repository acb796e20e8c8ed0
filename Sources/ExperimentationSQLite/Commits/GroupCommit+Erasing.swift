import Experimentation
import Foundation
internal import GRDB
import Synchronization

extension GroupCommit {
    /// The minimum number of seconds between a removal and the rewriting of the file.
    private static let leastBeforeErasing = 0.25

    /// Rewrites the file soon, when there is nothing else to do.
    ///
    /// Waits first, and longer if the last rewriting took long: otherwise each of many removals in a row would rewrite
    /// the whole file.
    func eraseLater(_ erasing: Erasing) {
        let wait = waiting.withLock { waiting -> Double? in
            if waiting.isErasingPlanned { return nil }
            waiting.isErasingPlanned = true
            return max(Self.leastBeforeErasing, waiting.lastErasing * 10)
        }
        guard let wait else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + wait) { [weak self] in
            guard let self else { return }
            // Reset before looking: what is owed from now on is planned anew.
            waiting.withLock { $0.isErasingPlanned = false }
            // Erasing may have been done meanwhile, for a caller that waited for it.
            if erasing.traces.isErasingOwed { submit(erasing) { _ in } }
        }
    }

    /// Rewrites the file, and waits for it.
    func erase(_ erasing: Erasing) async throws(ExperimentationError) {
        let result: Result<Void, ExperimentationError> = await withCheckedContinuation { continuation in
            submit(erasing) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Whether an earlier run owes the rewriting of the file.
    func isErasingOwed() throws -> Bool { try database.writeWithoutTransaction { try Erasing.isOwed($0) } }

    private func submit(
        _ erasing: Erasing,
        _ answer: @escaping @Sendable (Result<Void, ExperimentationError>) -> Void
    ) {
        let isFirst = waiting.withLock { waiting in
            waiting.erasing = erasing
            waiting.erasingAnswers.append(answer)
            if waiting.isRunning { return false }
            waiting.isRunning = true
            return true
        }
        if isFirst { goOn() }
    }

    /// Rewrites the file if that is due.
    ///
    /// - Returns: Whether it was.
    func runErasing(_ database: Database) -> Bool {
        let next = waiting.withLock { waiting -> (Erasing, [@Sendable (Result<Void, ExperimentationError>) -> Void])? in
            let isIdle = waiting.jobs.isEmpty && waiting.clearing == nil
            let isDue = isIdle || waiting.groupsBeforeErasing >= Self.mostBeforeErasing
            guard isDue, let erasing = waiting.erasing else { return nil }
            waiting.erasing = nil
            waiting.groupsBeforeErasing = 0
            defer { waiting.erasingAnswers = [] }
            return (erasing, waiting.erasingAnswers)
        }
        guard let (erasing, answers) = next else { return false }
        patience.isShort.store(false, ordering: .relaxed)
        var result: Result<Void, ExperimentationError> = .success(())
        let began = ContinuousClock.now
        do {
            try erasing.run(database, emptyingLogBy: emptyLog)
        } catch {
            result = .failure(.store(error, name: name))
        }
        let took = (ContinuousClock.now - began) / .seconds(1)
        waiting.withLock { $0.lastErasing = took }
        for answer in answers { answer(result) }
        return true
    }
}
