import Experimentation
import Foundation
import Synchronization

/// The assignments given to a tenant's users, for vendors that promise to keep them.
///
/// The first assignment stored wins, whichever instance stored it. An answer waits for the store for at most a second.
/// After that it has the computed assignment, which is stored later unless another instance was first.
final class AssignmentBook: Sendable {
    /// Accepts assignments that couldn't be stored.
    typealias Later = @Sendable (AssignmentRecord) async -> Void

    /// What is known of a user.
    struct Entry: Sendable, Equatable {
        var assignments = EarlierAssignments()
        /// Whether this came from the store rather than from a computation without it.
        var isWritten = true
    }

    private let state: any StateStore
    private let prefix: String
    private let time: any TimeSource
    /// Whether other instances write to the store.
    private let isShared: Bool
    private let isAway: @Sendable () -> Bool
    private let later: Later
    private let entries = RecentEntries()

    /// How long an answer waits for the store.
    private static let patience = Duration.seconds(1)

    /// Creates a book.
    ///
    /// - Parameters:
    ///   - state: The tenant's store.
    ///   - account: The vendor's account that the experiments belong to.
    ///   - time: The clock.
    ///   - isShared: Whether other instances write to the store.
    ///   - isAway: Whether the store is known to be away.
    ///   - later: Accepts assignments that couldn't be stored.
    init(
        state: any StateStore,
        of account: Destination,
        time: any TimeSource,
        isShared: Bool = true,
        isAway: @escaping @Sendable () -> Bool = { false },
        later: @escaping Later = { _ in }
    ) {
        prefix = "gateway/assigned/\(account.account.prefix(32))/"
        (self.state, self.time, self.isAway, self.later) = (state, time, isAway, later)
        self.isShared = isShared
    }

    private func key(_ userID: String) -> String { prefix + SeenEvents.digest(userID) }

    /// Returns a user's earlier assignments.
    func earlier(of userID: String) async -> Entry {
        if let known = entries.entry(of: userID, at: time.instant) { return known }
        guard !isAway() else { return Entry(isWritten: false) }
        let (state, key, forgettings) = (state, key(userID), entries.forgettings)
        let found = await Limit.value(within: Self.patience, by: time) { () -> Entry in
            do throws(ExperimentationError) {
                return Entry(assignments: Self.read(try await state.value(for: key)))
            } catch {
                return Entry(isWritten: false)
            }
        }
        let entry = found ?? Entry(isWritten: false)
        guard entry.isWritten else { return entry }
        // If other instances write, an empty result may soon be outdated, so it isn't remembered.
        if !entry.assignments.variations.isEmpty {
            note(entry, userID, unlessForgottenSince: forgettings)
        } else if !isShared {
            entries.add(entry, of: userID, at: time.instant, unlessForgottenSince: forgettings)
        }
        return entry
    }

    /// Returns a user's stored assignments if they are in memory; `nil` if the store has to be read.
    func known(of userID: String) -> EarlierAssignments? {
        guard let entry = entries.entry(of: userID, at: time.instant), entry.isWritten else { return nil }
        return entry.assignments
    }

    /// Stores new assignments alongside earlier ones.
    ///
    /// - Parameters:
    ///   - assignments: The new ones.
    ///   - entry: What was known when they were computed.
    ///   - userID: The user.
    /// - Returns: The user's assignments now: those of another instance where it was first.
    func keep(_ assignments: EarlierAssignments, beside entry: Entry, of userID: String) async -> EarlierAssignments {
        let all = Self.merged(entry.assignments, assignments)
        if entry.isWritten, all == entry.assignments { return all }
        let (record, forgettings) = (AssignmentRecord(userID: userID, assignments: all), entries.forgettings)
        var written: EarlierAssignments?
        if !isAway() {
            written = await Limit.value(within: Self.patience, by: time) { try? await self.write(record) } ?? nil
        }
        if let written {
            note(Entry(assignments: written), userID, unlessForgottenSince: forgettings)
            return written
        }
        // Remembered, so that the record is handed over once rather than with every evaluation.
        let isNew = entries.entry(of: userID, at: time.instant)?.assignments != all
        note(Entry(assignments: all, isWritten: false), userID, unlessForgottenSince: forgettings)
        if isNew { await later(record) }
        return all
    }

    /// Stores assignments, except where others have been stored first.
    ///
    /// - Returns: The stored assignments.
    /// - Throws: `ErrorCode.store`.
    @discardableResult
    func write(_ record: AssignmentRecord) async throws(ExperimentationError) -> EarlierAssignments {
        let key = key(record.userID)
        var expected: [UInt8]?
        var all = record.assignments
        while true {
            guard let bytes = Self.bytes(all) else { return all }
            if bytes == expected { break }
            switch try await state.update(key, to: bytes, if: expected) {
            case .updated:
                entries.remove(record.userID)
                return all
            case .conflict(let current):
                expected = current
                all = Self.merged(Self.read(current), record.assignments)
            }
        }
        entries.remove(record.userID)
        return all
    }

    /// Removes a user's assignments.
    ///
    /// - Throws: `ErrorCode.store`.
    func forget(_ userID: String) async throws(ExperimentationError) {
        entries.remove(userID)
        try await state.removeAll(beginningWith: [key(userID)])
        // Forgotten once more, because other calls could read the assignments until the store had removed them.
        entries.forget(userID)
    }

    private func note(_ entry: Entry, _ userID: String, unlessForgottenSince forgettings: Int) {
        entries.set(entry, of: userID, at: time.instant, unlessForgottenSince: forgettings)
    }

    // MARK: Stored form

    private static func merged(_ first: EarlierAssignments, _ second: EarlierAssignments) -> EarlierAssignments {
        EarlierAssignments(first.variations.merging(second.variations) { first, _ in first })
    }

    private static func read(_ bytes: [UInt8]?) -> EarlierAssignments {
        guard let bytes else { return EarlierAssignments() }
        return (try? JSONDecoder().decode(EarlierAssignments.self, from: Data(bytes))) ?? EarlierAssignments()
    }

    private static func bytes(_ assignments: EarlierAssignments) -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(assignments)).map(Array.init)
    }
}
