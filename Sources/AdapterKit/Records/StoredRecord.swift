import Experimentation
import Foundation
import Synchronization

/// A record that is kept under a key of a state store, and read and changed as a whole.
///
/// Reading is synchronous. A change is in the store when the method that makes it returns; without a store, the record
/// lives as long as the process. The record's field names are those of the file; a field that an earlier version of the
/// record didn't have is read as in the initial one.
package final class StoredRecord<Record: Codable & Equatable & Sendable>: Sendable {
    private struct State: Sendable {
        var record: Record
        var revision: UInt64 = 0
        /// The revision in the store.
        var written: UInt64 = 0
        var isLoaded = false
    }

    private let state: Mutex<State>
    private let initial: Record
    private let store: (any StateStore)?
    private let key: String
    private let isSame: @Sendable (Record, Record) -> Bool
    private let whenUnreadable: @Sendable () -> Void
    /// One write at a time.
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates a record.
    ///
    /// - Parameters:
    ///   - initial: The record as long as nothing is stored.
    ///   - store: The store; `nil` for this process only.
    ///   - key: The key.
    ///   - isSame: Whether two records needn't be told apart in the store.
    ///   - whenUnreadable: Called once if the stored record can't be read; from then on it counts as missing.
    package init(
        _ initial: Record,
        in store: (any StateStore)?,
        as key: String,
        isSame: @escaping @Sendable (Record, Record) -> Bool = { $0 == $1 },
        whenUnreadable: @escaping @Sendable () -> Void
    ) {
        state = Mutex(State(record: initial))
        self.initial = initial
        self.store = store
        self.key = key
        self.isSame = isSame
        self.whenUnreadable = whenUnreadable
    }

    /// The record as far as it has been loaded.
    package var value: Record { state.withLock(\.record) }

    /// Reads an earlier run's record, once.
    ///
    /// - Throws: `ErrorCode.store` if the store can't be read; nothing counts as missing then.
    package func load() async throws(ExperimentationError) {
        guard !state.withLock(\.isLoaded) else { return }
        let bytes = try await store?.value(for: key)
        let record = bytes.flatMap { try? read($0) }
        let isFirst = state.withLock { state in
            guard !state.isLoaded else { return false }
            state.isLoaded = true
            if let record { state.record = record }
            return true
        }
        if isFirst, bytes != nil, record == nil { whenUnreadable() }
    }

    private func read(_ bytes: [UInt8]) throws(ExperimentationError) -> Record? {
        guard let stored = try JSON.parse(bytes).objectValue,
            let defaults = try JSON.parse(JSON.encode(initial)).objectValue
        else { return nil }
        return try JSON.decode(Record.self, from: JSON.encode(FlagValue.object(defaults.merging(stored) { $1 })))
    }

    /// Changes the record; the change is in the store when this returns.
    ///
    /// A change that can't be written is written with the next one.
    package func update<Result: Sendable>(
        _ change: @Sendable (inout Record) -> Result
    ) async throws(ExperimentationError) -> Result {
        // Changing a record that hasn't been loaded yet would erase the rest of it.
        try await load()
        let (result, revision) = state.withLock { state -> (Result, UInt64) in
            let old = state.record
            let result = change(&state.record)
            if !isSame(old, state.record) { state.revision += 1 }
            return (result, state.revision)
        }
        try await write(revision)
        return result
    }

    /// Writes the newest record, unless the store already has this revision.
    ///
    /// A caller's cancellation doesn't end the write.
    private func write(_ revision: UInt64) async throws(ExperimentationError) {
        guard let store, state.withLock({ $0.written < revision }) else { return }
        try await turn.run { [self] () async throws(ExperimentationError) in
            let (record, newest, written) = state.withLock { ($0.record, $0.revision, $0.written) }
            guard written < revision else { return }
            try await store.setValue(try JSON.encode(record), for: key)
            state.withLock { $0.written = newest }
        }
    }
}
