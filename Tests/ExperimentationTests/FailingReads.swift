import Experimentation
import Synchronization

/// A state store that fails a number of reads.
final class FailingReads: StateStoreDecorator {
    let baseState: any StateStore
    private let part: String
    private let left: Mutex<Int>

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - count: How many reads fail.
    ///   - base: The store beneath.
    ///   - part: What the keys contain that can't be read; all if empty.
    init(_ count: Int, of base: any StateStore, for part: String = "") {
        baseState = base
        self.part = part
        left = Mutex(count)
    }

    /// Lets all reads from now on succeed.
    func mend() { left.withLock { $0 = 0 } }

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        let fails = left.withLock { left in
            guard part.isEmpty || key.contains(part), left > 0 else { return false }
            left -= 1
            return true
        }
        if fails { throw ExperimentationError(.store, "as the test wants it") }
        return try await baseState.value(for: key)
    }
}
