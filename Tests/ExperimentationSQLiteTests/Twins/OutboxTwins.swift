import ConformanceKit
import Experimentation
import Foundation
import Synchronization

/// The false memory shared by the twins of one store.
final class TwinMemory: Sendable {
    struct State {
        var tokens: [Destination: LeaseToken] = [:]
        var delivered = 0
        var latest = Date.distantPast
        var destinations: Set<Destination> = []
    }

    let state = Mutex(State())

    /// The latest lease of a lane, of any holder.
    func latest(_ token: LeaseToken) -> LeaseToken { state.withLock { $0.tokens[token.destination] ?? token } }
}

/// A store that breaks one rule of the contract.
protocol OutboxTwin: OutboxStoreDecorator {
    init(base: any OutboxStore, memory: TwinMemory)
}

/// Keeps consent in each client instead of the store.
struct ConsentOutside: OutboxTwin {
    let base: any OutboxStore
    private let own = Own()

    private final class Own: Sendable { let denied = Mutex<Set<String>>([]) }

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        var outcome = try await base.setConsent(changes)
        for change in changes {
            own.denied.withLock { denied in
                if change.isGranted { denied.remove(change.userID) } else { denied.insert(change.userID) }
            }
            outcome.released += try await base.setConsent([ConsentChange(userID: change.userID, isGranted: true)])
                .released
        }
        return outcome
    }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        var refusals: [ExperimentationError?] = []
        for event in events {
            let user = event.envelope.identity.id
            if event.grantsConsent { own.denied.withLock { _ = $0.remove(user) } }
            if own.denied.withLock({ $0.contains(user) }), !event.envelope.event.isConsentSignal {
                refusals.append(ExperimentationError(.consentDenied, "denied"))
            } else {
                refusals += try await base.append([event], now: now)
            }
        }
        return refusals
    }
}

/// Ignores that an event may grant consent.
struct SilentGrants: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await base.append(events.map { NewEvent($0.envelope, owedTo: $0.deliveries) }, now: now)
    }
}

/// Gives up when the calling task is cancelled.
struct HeedsCancellation: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        if Task.isCancelled { throw ExperimentationError(.cancelled, "The task was cancelled.") }
        return try await body()
    }
}

/// Holds an event at all destinations if it is held at one.
struct HeldEverywhere: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let events = events.map { event in
            let isHeld = event.deliveries.contains { $0.isHeld }
            let deliveries = event.deliveries.map { NewEvent.Delivery(to: $0.destination, isHeld: isHeld) }
            return NewEvent(event.envelope, owedTo: deliveries, grantsConsent: event.grantsConsent)
        }
        return try await base.append(events, now: now)
    }
}

/// Carries out only the last of several changes for a user.
struct LastWord: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        let last = Dictionary(changes.map { ($0.userID, $0) }, uniquingKeysWith: { $1 })
        return try await base.setConsent(Array(last.values))
    }
}

/// Drops leased events to make room.
struct RuthlessRoom: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await base.append(events, now: .distantFuture)
    }
}

/// Expires leased events.
struct RuthlessExpiry: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        try await base.expire(before: date, owedTo: destination, now: .distantFuture)
    }
}

/// Removes consent signals with the other events.
struct ForgottenSignals: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        let removed = try await base.remove(owedTo: destination, as: account)
        return removed + (try await base.remove(owedTo: destination, as: .dropped(.closed)))
    }
}

/// Never reports that it dropped anything.
struct BlindToOverflow: OutboxTwin {
    let base: any OutboxStore
    var overflowed: Int { 0 }

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }
}
