import Foundation

/// An outbox that forwards to another one, except for what it does differently.
///
/// A conforming type names the underlying store and implements only the methods that it changes; all others are
/// forwarded. Wrap stores this way: every wrapper then forwards methods that are added to ``OutboxStore`` later.
///
/// All events come through ``OutboxStore/append(_:now:)``, and on any executor: a decorator has neither
/// ``OutboxStore/append(_:joinedBy:now:)`` nor ``OutboxStore/executor`` of the underlying store unless it forwards
/// them.
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
    /// The underlying store.
    var base: any OutboxStore { get }
}

/// What the decorators of both stores share.
public protocol StoreDecorator: Sendable {
    /// Forwards an operation: called around each one that isn't implemented otherwise.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - body: Performs it.
    /// - Returns: What the operation returns.
    /// - Throws: What the operation throws, or any other error instead.
    func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value
}

extension StoreDecorator {
    /// Performs the operation.
    public func pass<Value: Sendable>(
        _ operation: StoreOperation,
        _ body: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value { try await body() }
}

/// The operations of the two stores, by their names there.
public enum StoreOperation: String, Sendable, CaseIterable {
    case append, setConsent, lease, isCurrent, settle, release, expire, remove, destinations, status, ledger, waiting
    case finishErasing
    case value, setValue, update, keys, removeAll
}

extension OutboxStoreDecorator {
    /// Forwards to the underlying store.
    public func append(
        _ events: [NewEvent],
        now: Date
    ) async throws(ExperimentationError) -> [ExperimentationError?] {
        try await pass(.append) { () async throws(ExperimentationError) in try await base.append(events, now: now) }
    }

    /// Forwards to the underlying store.
    public func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        try await pass(.setConsent) { () async throws(ExperimentationError) in try await base.setConsent(changes) }
    }

    /// Forwards to the underlying store.
    public func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
        try await pass(.lease) { () async throws(ExperimentationError) in try await base.lease(request) }
    }

    /// Forwards to the underlying store.
    public func isCurrent(_ token: LeaseToken) async throws(ExperimentationError) -> Bool {
        try await pass(.isCurrent) { () async throws(ExperimentationError) in try await base.isCurrent(token) }
    }

    /// Forwards to the underlying store.
    public func settle(
        _ settlements: [Settlement],
        under token: LeaseToken,
        now: Date
    ) async throws(ExperimentationError) -> Bool {
        try await pass(.settle) { () async throws(ExperimentationError) in
            try await base.settle(settlements, under: token, now: now)
        }
    }

    /// Forwards to the underlying store.
    public func release(
        _ token: LeaseToken,
        pause: DeliveryPause?,
        now: Date
    ) async throws(ExperimentationError) {
        try await pass(.release) { () async throws(ExperimentationError) in
            try await base.release(token, pause: pause, now: now)
        }
    }

    /// Forwards to the underlying store.
    public func expire(
        before date: Date,
        owedTo destination: Destination,
        now: Date
    ) async throws(ExperimentationError) -> Int {
        try await pass(.expire) { () async throws(ExperimentationError) in
            try await base.expire(before: date, owedTo: destination, now: now)
        }
    }

    /// The underlying store's count.
    public var overflowed: Int { base.overflowed }

    /// Forwards to the underlying store.
    public func remove(
        owedTo destination: Destination,
        as account: RemovalAccount
    ) async throws(ExperimentationError) -> Int {
        try await pass(.remove) { () async throws(ExperimentationError) in
            try await base.remove(owedTo: destination, as: account)
        }
    }

    /// Forwards to the underlying store.
    public func destinations() async throws(ExperimentationError) -> [Destination] {
        try await pass(.destinations) { () async throws(ExperimentationError) in try await base.destinations() }
    }

    /// Forwards to the underlying store.
    public func status(of destination: Destination?, now: Date) async throws(ExperimentationError) -> OutboxStatus {
        try await pass(.status) { () async throws(ExperimentationError) in
            try await base.status(of: destination, now: now)
        }
    }

    /// Forwards to the underlying store.
    public func ledger(of destination: Destination?) async throws(ExperimentationError) -> Ledger {
        try await pass(.ledger) { () async throws(ExperimentationError) in try await base.ledger(of: destination) }
    }

    /// Forwards to the underlying store.
    public func waiting(after sequence: Int64, limit: Int) async throws(ExperimentationError) -> [WaitingEvent] {
        try await pass(.waiting) { () async throws(ExperimentationError) in
            try await base.waiting(after: sequence, limit: limit)
        }
    }

    /// Forwards to the underlying store.
    public var contentsID: String? { base.contentsID }

    /// Forwards to the underlying store.
    public func finishErasing() async throws(ExperimentationError) {
        try await pass(.finishErasing) { () async throws(ExperimentationError) in try await base.finishErasing() }
    }
}

/// A state store that forwards to another one, except for what it does differently; see ``OutboxStoreDecorator``.
public protocol StateStoreDecorator: StateStore, StoreDecorator {
    /// The underlying store.
    var baseState: any StateStore { get }
}

extension StateStoreDecorator {
    /// Forwards to the underlying store.
    public func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        try await pass(.value) { () async throws(ExperimentationError) in try await baseState.value(for: key) }
    }

    /// Forwards to the underlying store.
    public func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        try await pass(.setValue) { () async throws(ExperimentationError) in
            try await baseState.setValue(value, for: key)
        }
    }

    /// Forwards to the underlying store.
    public func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        try await pass(.update) { () async throws(ExperimentationError) in
            try await baseState.update(key, to: value, if: expected)
        }
    }

    /// Forwards to the underlying store.
    public func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
        try await pass(.keys) { () async throws(ExperimentationError) in try await baseState.keys(beginningWith: prefix)
        }
    }

    /// Forwards to the underlying store.
    public func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        try await pass(.removeAll) { () async throws(ExperimentationError) in
            try await baseState.removeAll(beginningWith: prefixes)
        }
    }
}
