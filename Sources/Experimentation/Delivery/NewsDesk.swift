import Synchronization

/// Passes news on to somebody who comes into being after the outbox that makes them.
final class NewsDesk: Sendable {
    /// A closure that lies in a mutex by itself is wrapped once more by every look at it, until calling it overflows the
    /// stack; one that lies in a structure isn't.
    private struct Reader: Sendable {
        var read: @Sendable (Outbox.News) -> Void
    }

    private let reader = Mutex<Reader?>(nil)

    /// Creates a desk that nobody reads at.
    init() {}

    /// Says who reads the news from now on.
    func open(_ read: @escaping @Sendable (Outbox.News) -> Void) { reader.withLock { $0 = Reader(read: read) } }

    /// Passes news on; what comes before there is a reader is lost.
    func take(_ news: Outbox.News) { reader.withLock { $0 }?.read(news) }
}
