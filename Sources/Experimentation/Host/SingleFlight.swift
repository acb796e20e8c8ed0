import Synchronization

/// Lets concurrent callers that want the same thing share one operation.
///
/// A failure is passed to the callers that wait for it, and not remembered. A cancelled caller stops waiting; the
/// operation continues for the others.
package final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Landing = AsyncRace<Result<Value, ExperimentationError>>

    private struct Flight {
        let landing = Landing()
        let number: UInt64
        var callers = 1
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var number: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Creates an instance without operations.
    package init() {}

    /// Returns the result of the current operation for a key, starting one if there is none.
    ///
    /// - Throws: The operation's error; ``ErrorCode/cancelled`` if this task is cancelled first.
    package func callAsFunction(
        _ key: Key,
        _ work: @escaping @Sendable () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let (flight, isNew) = board(key)
        if isNew {
            Task {
                let result: Result<Value, ExperimentationError>
                do throws(ExperimentationError) {
                    result = .success(try await work())
                } catch {
                    result = .failure(error)
                }
                self.change(key, flight.number) { $0 = nil }
                flight.landing.finish(with: result)
            }
        }
        if let result = await flight.landing.winner() { return try result.get() }
        change(key, flight.number) { $0?.callers -= 1 }
        throw ExperimentationError(.cancelled, "The task was cancelled.")
    }

    /// The number of callers that currently share an operation.
    var callers: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.callers } } }

    /// Joins the operation for a key, or enters a new one.
    private func board(_ key: Key) -> (Flight, isNew: Bool) {
        state.withLock { state in
            if let flight = state.flights[key] {
                state.flights[key]?.callers += 1
                return (flight, false)
            }
            state.number += 1
            let flight = Flight(number: state.number)
            state.flights[key] = flight
            return (flight, true)
        }
    }

    /// Changes an operation's entry, unless another has taken its place.
    private func change(_ key: Key, _ number: UInt64, _ change: (inout Flight?) -> Void) {
        state.withLock { state in
            if state.flights[key]?.number == number { change(&state.flights[key]) }
        }
    }
}
