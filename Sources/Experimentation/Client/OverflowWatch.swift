import Synchronization

/// Reports when a store drops events to make room: at the first one, and whenever the count has grown tenfold.
final class OverflowWatch: Sendable {
    private let store: any OutboxStore
    private let announce: @Sendable (_ count: Int) -> Void
    private let next = Mutex(1)

    init(_ store: any OutboxStore, announce: @escaping @Sendable (_ count: Int) -> Void) {
        (self.store, self.announce) = (store, announce)
    }

    /// Checks the count; costs one load while it is zero.
    func look() {
        let count = store.overflowed
        if count == 0 { return }
        let isDue = next.withLock { next in
            guard count >= next else { return false }
            while next <= count {
                let (tenfold, isTooMuch) = next.multipliedReportingOverflow(by: 10)
                next = isTooMuch ? .max : tenfold
                if isTooMuch { break }
            }
            return true
        }
        if isDue { announce(count) }
    }
}
