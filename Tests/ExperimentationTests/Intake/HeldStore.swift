import Experimentation
import Foundation
import Synchronization

/// Stores in memory whose calls each wait until a test lets them go.
final class HeldStore: OutboxStoreDecorator, StateStoreDecorator {
    /// The outcome of a call.
    enum Fate: CaseIterable { case done, failsBefore, failsAfter }

    /// What was done in the store, in order.
    enum Deed: Equatable {
        case stored(id: String, refusal: ErrorCode?)
        case changed(ConsentChange)
    }

    private struct State {
        var held: [CheckedContinuation<Fate, Never>] = []
        var isFree = false
        var deeds: [Deed] = []
    }

    let base: any OutboxStore = InMemoryOutboxStore(maximumEventBytes: 2_000)
    let baseState: any StateStore = InMemoryStateStore()
    /// Whether transactions take events that arrive while they wait.
    let isJoined: Bool
    private let state = Mutex(State())

    init(isJoined: Bool = false) { self.isJoined = isJoined }

    var deeds: [Deed] { state.withLock { $0.deeds } }
    /// The number of calls that wait.
    var held: Int { state.withLock { $0.held.count } }

    /// Lets one of the waiting calls go.
    func release(_ index: Int, _ fate: Fate) { state.withLock { $0.held.remove(at: index) }.resume(returning: fate) }

    /// Whether calls go at once; setting it lets those go that wait.
    var isFree: Bool {
        get { state.withLock { $0.isFree } }
        set {
            let going = state.withLock { state in
                state.isFree = newValue
                let going = newValue ? state.held : []
                if newValue { state.held = [] }
                return going
            }
            for call in going { call.resume(returning: .done) }
        }
    }

    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let fate = await withCheckedContinuation { call in
            let isFree = state.withLock { state in
                if !state.isFree { state.held.append(call) }
                return state.isFree
            }
            if isFree { call.resume(returning: .done) }
        }
        if fate == .failsBefore { throw ExperimentationError(.store, "The disk failed.") }
        let value = try await body()
        if fate == .failsAfter { throw ExperimentationError(.store, "The disk failed to say that it is done.") }
        return value
    }

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await pass(.append) { () async throws(ExperimentationError) in
            let refusals = try await base.append(events, now: now)
            let deeds = zip(events, refusals).map { Deed.stored(id: $0.envelope.id, refusal: $1?.code) }
            state.withLock { $0.deeds += deeds }
            return refusals
        }
    }

    func append(
        _ events: [NewEvent],
        joinedBy more: @escaping @Sendable (_ count: Int) -> [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        guard isJoined else { return try await append(events, now: now) }
        let taken = try await pass(.append) { events + more(events.count) }
        // Once more from the start, as a transaction does that runs twice.
        return try await append(events + more(events.count).prefix(taken.count - events.count), now: now)
    }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        try await pass(.setConsent) { () async throws(ExperimentationError) in
            let outcome = try await base.setConsent(changes)
            state.withLock { $0.deeds += changes.map(Deed.changed) }
            return outcome
        }
    }
}
