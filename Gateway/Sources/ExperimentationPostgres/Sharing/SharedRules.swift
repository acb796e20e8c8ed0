import Experimentation
import Synchronization

/// A vendor's rules that one of several machines fetches for all.
///
/// The machine that asks first once the interval has passed takes a lease, asks the vendor and stores the answer, under
/// an epoch that only grows. Results of an expired lease are rejected. All other machines read the stored result,
/// including failures.
final class SharedRules: RulesetSource {
    let freshness: Freshness
    private let source: any RulesetSource
    private let board: RulesBoard
    private let lease: Duration
    private let time: any TimeSource
    private let isAway: @Sendable () -> Bool
    /// When the vendor last announced that its rules have changed.
    private let noticed = Mutex<ContinuousClock.Instant?>(nil)
    private let answered = Atomic<Int64>(0)
    private let disabled = Atomic<Int64>(0)

    /// The part of the interval after which rules are due: the client spreads its requests over nine to eleven tenths
    /// of it.
    private static let due = 0.9
    /// How soon a vendor that failed is asked again, if rules are valid for longer.
    private static let retry = Duration.seconds(5)

    init(
        _ source: any RulesetSource,
        _ board: RulesBoard,
        lease: Duration,
        time: any TimeSource,
        isAway: @escaping @Sendable () -> Bool
    ) {
        freshness = source.freshness
        (self.source, self.board, self.lease, self.time, self.isAway) = (source, board, lease, time, isAway)
    }

    /// The latest revision that this machine has read.
    var revision: Int64 { answered.load(ordering: .relaxed) }

    /// The revision with which this machine last read that the kill switch is on; 0 before.
    var disabledRevision: Int64 { disabled.load(ordering: .acquiring) }

    /// Makes the next call ask the vendor, because it announced a change.
    func expire() { noticed.withLock { $0 = time.instant } }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let known = validator.flatMap { Int64($0) }
        let end = time.instant.advanced(by: lease)
        while true {
            if isAway() { throw ExperimentationError(.store, "The database is away, and with it the shared rules.") }
            let seen = try await board.look()
            if !isDue(seen) { return try answer(seen, to: known) }
            if let term = try await board.lead(for: lease, if: { self.isDue($0) }) {
                if let answer = try await fetch(under: term, for: known) { return answer }
                continue
            }
            // Another machine is asking the vendor; the published rules suffice until a change is announced.
            if seen?.body != nil || seen?.isDisabled == true { return try answer(seen, to: known) }
            guard time.instant < end else {
                throw ExperimentationError(.timeout, "Another machine fetches the rules, and hasn't brought any yet.")
            }
            do { try await time.sleep(for: .milliseconds(50)) } catch {
                throw ExperimentationError(.cancelled, "The wait for the rules was given up.")
            }
        }
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        try source.ruleset(restoring: raw)
    }

    // MARK: Steps

    private func isDue(_ seen: PublishedRow?) -> Bool {
        guard let seen else { return true }
        let notice = noticed.withLock { $0 }
        if let notice, notice.duration(to: time.instant) < seen.age { return true }
        var interval = freshness.polling ?? freshness.lifetime ?? .zero
        if seen.failure != nil { interval = min(interval, Self.retry) }
        return seen.age >= max(interval, .seconds(1)) * Self.due
    }

    private func answer(_ seen: PublishedRow?, to known: Int64?) throws(ExperimentationError) -> RulesetAnswer {
        guard let seen else { throw ExperimentationError(.store, "There are no shared rules.") }
        answered.store(seen.revision, ordering: .relaxed)
        if seen.isDisabled {
            disabled.store(seen.revision, ordering: .releasing)
            return .disabled
        }
        if let known, known == seen.revision {
            if let failure = seen.failure { throw failure }
            return .unchanged
        }
        guard let body = seen.body else {
            throw seen.failure ?? ExperimentationError(.providerNotReady, "There are no shared rules yet.")
        }
        return .replaced(try source.ruleset(restoring: body), validator: String(seen.revision), raw: body)
    }

    /// - Returns: The answer; `nil` if another machine's term began meanwhile, so that this result is discarded.
    private func fetch(
        under term: LeaderTerm,
        for known: Int64?
    ) async throws(ExperimentationError) -> RulesetAnswer? {
        var row = term.before ?? PublishedRow()
        let revision = row.revision
        do throws(ExperimentationError) {
            switch try await source.ruleset(ifNot: row.body == nil ? nil : row.validator) {
            case .unchanged: row.change(isDisabled: false)
            case .disabled: row.change(isDisabled: true)
            case .replaced(_, let validator, let raw): row.change(isDisabled: false, validator: validator, body: raw)
            }
        } catch {
            row.failure = error
            _ = try? await board.publish(row, under: term)
            throw error
        }
        guard let published = try await board.publish(row, under: term) else { return nil }
        if published.revision != revision { await board.notify() }
        return try answer(published, to: known)
    }
}

extension PublishedRow {
    init() { age = .zero }

    /// Applies the state of the kill switch that the vendor reported; the revision grows if it has changed.
    mutating func change(isDisabled: Bool) {
        failure = nil
        if self.isDisabled != isDisabled { revision += 1 }
        self.isDisabled = isDisabled
    }

    /// Applies new rules.
    mutating func change(isDisabled: Bool, validator: String?, body: [UInt8]) {
        let isNew = self.body != body
        if isNew, self.isDisabled == isDisabled { revision += 1 }
        change(isDisabled: isDisabled)
        self.validator = validator
        self.body = body
    }
}
