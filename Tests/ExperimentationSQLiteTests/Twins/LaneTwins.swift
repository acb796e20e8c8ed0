import ConformanceKit
import Experimentation
import Foundation
import Synchronization

/// Leases events instead of lanes: every caller gets the same lane.
struct OpenLane: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        var request = request
        request.owner = 1
        return try await base.lease(request)
    }
}

/// Never increases the epoch.
struct StillEpoch: OutboxTwin {
    let base: any OutboxStore
    private let memory: TwinMemory

    init(base: any OutboxStore, memory: TwinMemory) { (self.base, self.memory) = (base, memory) }

    private func real(_ token: LeaseToken) -> LeaseToken {
        var token = token
        token.epoch = memory.latest(token).epoch
        return token
    }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        var request = request
        request.token = request.token.map(real)
        guard case .leased(var lease) = try await base.lease(request) else { return try await base.lease(request) }
        memory.state.withLock { $0.tokens[request.destination] = lease.token }
        lease.token.epoch = 1
        return .leased(lease)
    }

    func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        try await base.isCurrent(real(token))
    }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        try await base.settle(settlements, under: real(token), now: now)
    }

    func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) async throws(ExperimentationError) {
        try await base.release(real(token), pause: pause, now: now)
    }
}

/// Lets a former holder of a lane settle like the current one.
struct StaleVerdicts: OutboxTwin {
    let base: any OutboxStore
    private let memory: TwinMemory

    init(base: any OutboxStore, memory: TwinMemory) { (self.base, self.memory) = (base, memory) }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        let answer = try await base.lease(request)
        if case .leased(let lease) = answer {
            memory.state.withLock { $0.tokens[request.destination] = lease.token }
        }
        return answer
    }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        _ = try await base.settle(settlements, under: memory.latest(token), now: now)
        return try await base.isCurrent(token)
    }
}

/// Reports every lease as current, whatever happened to the lane and its events.
struct BlindHolder: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool { true }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        _ = try await base.settle(settlements, under: token, now: now)
        return true
    }
}

/// Ignores pauses.
struct Restless: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func release(_ token: LeaseToken, pause: DeliveryPause?, now: Date) async throws(ExperimentationError) {
        try await base.release(token, pause: nil, now: now)
    }
}

/// Assumes that time never goes back.
struct OneWayClock: OutboxTwin {
    let base: any OutboxStore
    private let memory: TwinMemory

    init(base: any OutboxStore, memory: TwinMemory) { (self.base, self.memory) = (base, memory) }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        var request = request
        request.now = memory.state.withLock { state in
            state.latest = max(state.latest, request.now)
            return state.latest
        }
        return try await base.lease(request)
    }
}

/// Sorts a batch by the time of its events.
struct OrderedByTime: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        guard case .leased(var lease) = try await base.lease(request) else { return try await base.lease(request) }
        lease.batches = lease.batches.map { $0.sorted { $0.date < $1.date } }
        return .leased(lease)
    }
}

/// Starts a new round instead of continuing the current one.
struct ForgetfulRound: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        guard let token = request.token, try await base.isCurrent(token) else { return try await base.lease(request) }
        var request = request
        request.token = nil
        return try await base.lease(request)
    }
}

/// Counts what the caller settles as delivered, not what was stored.
struct AccountsFromRequests: OutboxTwin {
    let base: any OutboxStore
    private let memory: TwinMemory

    init(base: any OutboxStore, memory: TwinMemory) { (self.base, self.memory) = (base, memory) }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        memory.state.withLock { $0.delivered += settlements.count { $0.outcome == .delivered } }
        return try await base.settle(settlements, under: token, now: now)
    }

    func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        var ledger = try await base.ledger(of: destination)
        ledger.delivered = memory.state.withLock { $0.delivered }
        return ledger
    }
}

/// Removes an event for all destinations when the first one has it.
struct SharedBody: OutboxTwin {
    let base: any OutboxStore

    init(base: any OutboxStore, memory: TwinMemory) { self.base = base }

    func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        let delivered = settlements.filter { $0.outcome == .delivered }
        for destination in try await base.destinations() where destination != token.destination {
            let other = LeaseToken(destination: destination, epoch: -1, revision: 0)
            _ = try await base.settle(delivered, under: other, now: now)
        }
        return try await base.settle(settlements, under: token, now: now)
    }
}
