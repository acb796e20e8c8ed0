import Experimentation
import Foundation

/// How many events each vendor of a move didn't support, in a store that several instances share.
struct UnsupportedRecord: Sendable {
    private struct Counts: Codable {
        /// The name of the move; `nil` if it was written before moves had names.
        var move: String?
        var old: Int?
        var new: Int?

        subscript(side: MigrationSide) -> Int? {
            get { side == .old ? old : new }
            set { if side == .old { old = newValue } else { new = newValue } }
        }
    }

    private let store: any StateStore
    private let move: String?
    private static let key = "migration/unsupported"

    /// Creates a record in the move's part of a store.
    ///
    /// - Parameters:
    ///   - state: The move's part of a store.
    ///   - move: The name of the move: what another move has written counts as missing. `nil` for the last move.
    ///   - log: Where damage is logged.
    init(in state: any StateStore, of move: String?, log: any LogSink) {
        store = SealedState(state, log: log)
        self.move = move
    }

    /// Returns the counts of all instances and runs.
    func read() async throws(ExperimentationError) -> [MigrationSide: Int] {
        let counts = counts(try await store.value(for: Self.key))
        var named: [MigrationSide: Int] = [:]
        for side in MigrationSide.allCases { named[side] = counts[side] }
        return named
    }

    /// Adds counts to what is there.
    ///
    /// - Throws: ``ErrorCode/store``; in that case nothing was added.
    func add(_ more: [MigrationSide: Int]) async throws(ExperimentationError) {
        var written = try await store.value(for: Self.key)
        for _ in 0..<32 {
            var counts = counts(written)
            for (side, count) in more { counts[side] = (counts[side] ?? 0) + count }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            guard let data = try? encoder.encode(counts) else { return }
            switch try await store.update(Self.key, to: Array(data), if: written) {
            case .updated: return
            case .conflict(let other): written = other
            }
        }
        throw ExperimentationError(.store, "Other instances keep changing the counts of the move.")
    }

    private func counts(_ bytes: [UInt8]?) -> Counts {
        let none = Counts(move: move)
        guard let bytes, var counts = try? JSONDecoder().decode(Counts.self, from: Data(bytes)) else { return none }
        guard move == nil || counts.move == nil || counts.move == move else { return none }
        counts.move = move ?? counts.move
        return counts
    }
}
