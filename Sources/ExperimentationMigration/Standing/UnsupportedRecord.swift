import Experimentation
import Foundation

/// How many events each vendor of a move had no word for, in a store that several instances share.
struct UnsupportedRecord: Sendable {
    private let store: any StateStore
    private static let key = "migration/unsupported"

    /// Creates a record in the move's part of a store.
    init(in state: any StateStore, log: any LogSink) { store = SealedState(state, log: log) }

    /// Returns the counts of all instances and runs.
    func read() async throws(ExperimentationError) -> [MigrationSide: Int] {
        Self.counts(try await store.value(for: Self.key))
    }

    /// Adds counts to what is there.
    ///
    /// - Throws: ``ErrorCode/store``; nothing was added then.
    func add(_ counts: [MigrationSide: Int]) async throws(ExperimentationError) {
        var written = try await store.value(for: Self.key)
        for _ in 0..<32 {
            let sum = Self.counts(written).merging(counts, uniquingKeysWith: +)
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let named = Dictionary(uniqueKeysWithValues: sum.map { ($0.key.rawValue, $0.value) })
            guard let data = try? encoder.encode(named) else { return }
            switch try await store.update(Self.key, to: Array(data), if: written) {
            case .updated: return
            case .conflict(let other): written = other
            }
        }
        throw ExperimentationError(.store, "Other instances keep changing the counts of the move.")
    }

    private static func counts(_ bytes: [UInt8]?) -> [MigrationSide: Int] {
        guard let bytes, let named = try? JSONDecoder().decode([String: Int].self, from: Data(bytes)) else {
            return [:]
        }
        var counts: [MigrationSide: Int] = [:]
        for side in MigrationSide.allCases { counts[side] = named[side.rawValue] }
        return counts
    }
}
