import Foundation

/// An outbox that is another one but for what it does differently.
///
/// A type that adopts this names the store beneath and writes down only the methods that it changes; every other one is
/// passed on. It is the way to wrap a store: a method that is added to ``OutboxStore`` is passed on by all of them at once.
///
/// ```swift
/// struct CountingOutbox: OutboxStoreDecorator {
///     let base: any OutboxStore
///     let appended = Counter()
///
///     func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
///         appended.add(events.count)
///         return try await base.append(events, now: now)
///     }
/// }
/// ```
public protocol OutboxStoreDecorator: OutboxStore, StoreDecorator {
    /// The store beneath.
    var base: any OutboxStore { get }
}

/// What the decorators of both stores have in common.
public protocol StoreDecorator: Sendable {
    /// Passes an operation on: called around every one that isn't written down otherwise.
    ///
    /// - Parameters:
    ///   - operation: Which one.
    ///   - body: Does it.
    /// - Returns: What it gives.
    /// - Throws: What it throws, or anything in its place.
    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value
}

extension StoreDecorator {
    /// Does it.
    public func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value { try await body() }
}

/// The operations of the two stores, as they are named there.
public enum StoreOperation: String, Sendable, CaseIterable {
    case append, setConsent, lease, isCurrent, settle, release, expire, remove, destinations, status, ledger, waiting
    case finishErasing
    case value, setValue, update, keys, removeAll
}

extension OutboxStoreDecorator {
    /// Passes the events on.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await pass(.append) { () async throws(ExperimentationError) in try await base.append(events, now: now) }
    }

    /// Passes the changes on.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        try await pass(.setConsent) { () async throws(ExperimentationError) in try await base.setConsent(changes) }
    }

    /// Passes the request on.
    public func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        try await pass(.lease) { () async throws(ExperimentationError) in try await base.lease(request) }
    }

    /// Passes the question on.
    public func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        try await pass(.isCurrent) { () async throws(ExperimentationError) in try await base.isCurrent(token) }
    }

    /// Passes the settlements on.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        try await pass(.settle) { () async throws(ExperimentationError) in
            try await base.settle(settlements, under: token, now: now)
        }
    }

    /// Passes the lane on.
    public func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        try await pass(.release) { () async throws(ExperimentationError) in
            try await base.release(token, pause: pause, now: now)
        }
    }

    /// Passes the moment on.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        try await pass(.expire) { () async throws(ExperimentationError) in
            try await base.expire(before: date, owedTo: destination, now: now)
        }
    }

    /// What the store beneath says.
    public var overflowed: Int { base.overflowed }

    /// Passes the removal on.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        try await pass(.remove) { () async throws(ExperimentationError) in
            try await base.remove(owedTo: destination, as: account)
        }
    }

    /// Asks the store beneath.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        try await pass(.destinations) { () async throws(ExperimentationError) in try await base.destinations() }
    }

    /// Asks the store beneath.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await pass(.status) { () async throws(ExperimentationError) in
            try await base.status(of: destination, now: now)
        }
    }

    /// Asks the store beneath.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        try await pass(.ledger) { () async throws(ExperimentationError) in try await base.ledger(of: destination) }
    }

    /// Asks the store beneath.
    public func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        try await pass(.waiting) { () async throws(ExperimentationError) in
            try await base.waiting(after: sequence, limit: limit)
        }
    }

    /// Waits for the store beneath.
    public func finishErasing() async throws(ExperimentationError) {
        try await pass(.finishErasing) { () async throws(ExperimentationError) in try await base.finishErasing() }
    }
}

/// A state store that is another one but for what it does differently; see ``OutboxStoreDecorator``.
public protocol StateStoreDecorator: StateStore, StoreDecorator {
    /// The store beneath.
    var baseState: any StateStore { get }
}

extension StateStoreDecorator {
    /// Asks the store beneath.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await pass(.value) { () async throws(ExperimentationError) in try await baseState.value(for: key) }
    }

    /// Passes the value on.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await pass(.setValue) { () async throws(ExperimentationError) in
            try await baseState.setValue(value, for: key)
        }
    }

    /// Passes the update on.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        try await pass(.update) { () async throws(ExperimentationError) in
            try await baseState.update(key, to: value, if: expected)
        }
    }

    /// Asks the store beneath.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await pass(.keys) { () async throws(ExperimentationError) in try await baseState.keys(beginningWith: prefix)
        }
    }

    /// Passes the removal on.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        try await pass(.removeAll) { () async throws(ExperimentationError) in
            try await baseState.removeAll(beginningWith: prefixes)
        }
    }
}
