import Experimentation
import Synchronization

/// A tenant's ledgers and outbox as its store has them, for operators.
///
/// An open console asks each second, so a store that instances share is read only every few seconds. While the store is
/// away or slow, the last figures are returned.
final class StoreAccounts: Sendable {
    /// The figures at one moment.
    struct Figures: Sendable {
        var ledger = Ledger()
        var ledgers: [Destination: Ledger] = [:]
        var outbox = OutboxStatus()
    }

    private let lifetime: Duration
    private let time: any TimeSource
    private let isAway: @Sendable () -> Bool
    private let read: @Sendable () async throws -> Figures
    private let last = Mutex<(figures: Figures, end: ContinuousClock.Instant?)>((Figures(), nil))

    /// How long to wait for the store.
    private static let patience = Duration.seconds(1)

    /// Creates accounts.
    ///
    /// - Parameters:
    ///   - lifetime: How long figures are reused; zero to read them each time.
    ///   - time: The clock.
    ///   - isAway: Whether the store is known to be away.
    ///   - read: Reads the figures.
    init(
        lifetime: Duration,
        time: any TimeSource,
        isAway: @escaping @Sendable () -> Bool,
        read: @escaping @Sendable () async throws -> Figures
    ) {
        (self.lifetime, self.time, self.isAway, self.read) = (lifetime, time, isAway, read)
    }

    /// Creates the accounts of a client.
    convenience init(
        _ client: ExperimentationClient,
        lifetime: Duration,
        time: any TimeSource,
        isAway: @escaping @Sendable () -> Bool
    ) {
        self.init(lifetime: lifetime, time: time, isAway: isAway) {
            async let (ledger, ledgers, outbox) = (client.ledger(), client.ledgers(), client.outboxStatus())
            return Figures(ledger: try await ledger, ledgers: try await ledgers, outbox: try await outbox)
        }
    }

    /// The current figures.
    var figures: Figures {
        get async {
            let now = time.instant
            let (known, isDue) = last.withLock { last in
                let isDue = last.end.map { $0 <= now } ?? true
                if isDue, !isAway() { last.end = now.advanced(by: lifetime) }
                return (last.figures, isDue)
            }
            guard isDue, !isAway() else { return known }
            let read = read
            let found = await Limit.value(within: Self.patience, by: time) { [self] () -> Figures? in
                guard let figures = try? await read() else { return nil }
                last.withLock { $0.figures = figures }
                return figures
            }
            return found.flatMap { $0 } ?? known
        }
    }
}
