import Experimentation
import Foundation

/// An outbox that stores events and then fails a number of times, as if the answer was lost.
struct SilentOutbox: OutboxStoreDecorator {
    let base: any OutboxStore
    /// How many answers will be lost.
    let losses: Shared<Int>

    func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
        let answers = try await base.append(events, now: now)
        guard losses.takeOne() else { return answers }
        throw ExperimentationError(.store, "The answer was lost.")
    }
}

/// An outbox in memory that carries out no change of consent until a test lets it.
struct HangingOutbox: OutboxStoreDecorator {
    let base: any OutboxStore = InMemoryOutboxStore()
    private let door = AsyncStream.makeStream(of: Void.self)

    func goOn() { door.continuation.finish() }

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        for await _ in door.stream {}
        return try await base.setConsent(changes)
    }
}

/// A state store that fails to set or to read some values, or to remove any.
struct FailingState: StateStoreDecorator {
    let baseState: any StateStore
    /// How many times it fails to set a value below ``prefix``.
    var settings = Shared(0)
    /// How many times it fails to remove anything.
    var removals = Shared(0)
    /// How many times it fails to remove a value of the gateway by an update.
    var updates = Shared(0)
    /// How many times it fails to claim an id, as one that is full.
    var claims = Shared(0)
    /// How many times it fails to read the mark of a denial.
    var readings = Shared(0)
    /// The most values that were removed in one transaction.
    let largestRemoval = Shared(0)

    static let prefix = "gateway/event/"

    func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
        if key.hasPrefix("gateway/denied/"), readings.takeOne() {
            throw ExperimentationError(.store, "It can't be read.")
        }
        return try await baseState.value(for: key)
    }

    func setValue(_ value: [UInt8]?, for key: String) async throws(ExperimentationError) {
        if key.hasPrefix(Self.prefix), settings.takeOne() { throw ExperimentationError(.store, "It can't be set.") }
        try await baseState.setValue(value, for: key)
    }

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        if value == nil, key.hasPrefix("gateway/"), updates.takeOne() {
            throw ExperimentationError(.store, "It can't be removed.")
        }
        if value != nil, key.hasPrefix(Self.prefix), claims.takeOne() {
            throw ExperimentationError(.store, "There is no room.")
        }
        return try await baseState.update(key, to: value, if: expected)
    }

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        if removals.takeOne() { throw ExperimentationError(.store, "It can't be removed.") }
        var count = 0
        for prefix in prefixes { count += try await baseState.keys(beginningWith: prefix).count }
        largestRemoval.change { [count] in $0 = max($0, count) }
        try await baseState.removeAll(beginningWith: prefixes)
    }
}

extension Shared<Int> {
    /// Subtracts one, unless none is left.
    func takeOne() -> Bool {
        var wasAny = false
        change { left in
            wasAny = left > 0
            if wasAny { left -= 1 }
        }
        return wasAny
    }
}
