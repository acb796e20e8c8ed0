import Experimentation
import Synchronization

/// Keeps the most recently written of the records with a prefix, and up to an eighth more: listing them for each write
/// would cost more than writing.
final class FlagshipRecordLimit: Sendable {
    private let state: any StateStore
    private let prefix: String
    private let count: Int
    private let writesLeft = Mutex(0)

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - state: The store.
    ///   - prefix: The beginning of the records' keys.
    ///   - count: How many to keep.
    init(in state: any StateStore, of prefix: String, to count: Int = 10_000) {
        self.state = state
        self.prefix = prefix
        self.count = count
    }

    /// Removes the least recently written records if there are too many; to be called after each write.
    func trim() async {
        let isDue = writesLeft.withLock { left in
            defer { left = left > 0 ? left - 1 : count / 8 }
            return left <= 0
        }
        guard isDue, let keys = try? await state.keys(beginningWith: prefix), keys.count > count else { return }
        for key in keys.prefix(keys.count - count) { try? await state.setValue(nil, for: key) }
    }
}
