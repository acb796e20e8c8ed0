import Experimentation
import Foundation
import Synchronization

/// The assignments that users of a tenant have been answered with, for vendors that promise to keep them.
///
/// The first one written wins, whichever instance wrote it. An answer waits until it is written down; a store that says nothing
/// within a second isn't waited for: then the assignment is computed, and written later where nobody was first.
final class AssignmentBook: Sendable {
    /// Takes what couldn't be written.
    typealias Later = @Sendable (AssignmentRecord) async -> Void

    /// What is known of a user.
    struct Entry: Sendable, Equatable {
        var assignments = EarlierAssignments()
        /// Whether this is what the store has, rather than what was computed without it.
        var isWritten = true
    }

    private let state: any StateStore
    private let prefix: String
    private let time: any TimeSource
    /// Whether others write into the store too.
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
    ///   - account: Whose experiments these are.
    ///   - time: The time.
    ///   - isShared: Whether other instances write into the store too.
    ///   - isAway: Whether the store is known to be away.
    ///   - later: Takes what couldn't be written.
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

    /// What a user was assigned before.
    func earlier(of userID: String) async -> Entry {
        if let known = entries.entry(of: userID, at: time.instant) { return known }
        guard !isAway() else { return Entry(isWritten: false) }
        let (state, key) = (state, key(userID))
        let found = await Limit.value(within: Self.patience, by: time) { () -> Entry in
            do throws(ExperimentationError) {
                return Entry(assignments: Self.read(try await state.value(for: key)))
            } catch {
                return Entry(isWritten: false)
            }
        }
        let entry = found ?? Entry(isWritten: false)
        guard entry.isWritten else { return entry }
        // That nothing is written may be over in a moment where others write.
        if !entry.assignments.variations.isEmpty {
            note(entry, userID)
        } else if !isShared {
            entries.add(entry, of: userID, at: time.instant)
        }
        return entry
    }

    /// What a user was assigned before, as the store has it; `nil` if it has to be asked.
    func known(of userID: String) -> EarlierAssignments? {
        guard let entry = entries.entry(of: userID, at: time.instant), entry.isWritten else { return nil }
        return entry.assignments
    }

    /// Writes down what was decided, beside what was there before.
    ///
    /// - Parameters:
    ///   - assignments: The new ones.
    ///   - entry: What was known when they were made.
    ///   - userID: The user.
    /// - Returns: What the user has now; another's, where that was first.
    func keep(_ assignments: EarlierAssignments, beside entry: Entry, of userID: String) async -> EarlierAssignments {
        let all = Self.merged(entry.assignments, assignments)
        if entry.isWritten, all == entry.assignments { return all }
        let record = AssignmentRecord(userID: userID, assignments: all)
        var written: EarlierAssignments?
        if !isAway() {
            written = await Limit.value(within: Self.patience, by: time) { try? await self.write(record) } ?? nil
        }
        if let written {
            note(Entry(assignments: written), userID)
            return written
        }
        // Known from now on, so that it is handed over once and not with every look at a flag.
        let isNew = entries.entry(of: userID, at: time.instant)?.assignments != all
        note(Entry(assignments: all, isWritten: false), userID)
        if isNew { await later(record) }
        return all
    }

    /// Writes assignments where nobody was first.
    ///
    /// - Returns: What is written now.
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

    /// Removes what is kept of a user.
    ///
    /// - Throws: `ErrorCode.store`.
    func forget(_ userID: String) async throws(ExperimentationError) {
        entries.remove(userID)
        try await state.removeAll(beginningWith: [key(userID)])
    }

    private func note(_ entry: Entry, _ userID: String) { entries.set(entry, of: userID, at: time.instant) }

    // MARK: The written form

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
