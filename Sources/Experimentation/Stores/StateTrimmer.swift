import Synchronization

/// Keeps the most recently written of the values with a prefix, and up to an eighth more: listing them for each write
/// would cost more than writing them.
package final class StateTrimmer: Sendable {
    private let store: any StateStore
    private let prefix: String
    private let count: Int
    private let writesLeft = Mutex(0)
    /// How many are removed at once.
    private static let width = 1_000

    /// Creates a trimmer.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - prefix: The beginning of the values' keys.
    ///   - count: How many to keep.
    package init(_ store: any StateStore, of prefix: String, to count: Int) {
        self.store = store
        self.prefix = prefix
        self.count = count
    }

    /// Removes the least recently written values if there are too many; to be called after each write.
    ///
    /// A surplus from a time with a higher limit, or with none, is removed over many calls: no caller waits for all of
    /// it.
    package func trim() async {
        let isDue = writesLeft.withLock { left in
            defer { left = left > 0 ? left - 1 : count / 8 }
            return left <= 0
        }
        guard isDue, let keys = try? await store.keys(beginningWith: prefix), keys.count > count else { return }
        // Remove more than were written since the last time.
        var surplus = keys.prefix(min(keys.count - count, max(Self.width, count / 4)))
        while !surplus.isEmpty {
            // Side by side, so that they share a transaction.
            await withTaskGroup { group in
                for key in surplus.prefix(Self.width) {
                    group.addTask { try? await self.store.setValue(nil, for: key) }
                }
            }
            surplus = surplus.dropFirst(Self.width)
        }
    }
}
