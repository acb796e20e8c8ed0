import Synchronization

/// Lets concurrent callers that want the same thing share one operation.
///
/// A failure is passed to those who waited for it, and not remembered. A cancelled caller stops waiting; the operation
/// continues for the others.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Flight {
        var task: Task<Result<Value, ExperimentationError>, Never>
        var number: UInt64
        var callers = 1
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var number: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Returns the result of the current operation for a key, starting one if there is none.
    func callAsFunction(
        _ key: Key,
        _ work: @escaping @Sendable () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let task = state.withLock { state in
            if let flight = state.flights[key] {
                state.flights[key]?.callers += 1
                return flight.task
            }
            state.number += 1
            let number = state.number
            let task = Task { () -> Result<Value, ExperimentationError> in
                let result: Result<Value, ExperimentationError>
                do throws(ExperimentationError) {
                    result = .success(try await work())
                } catch {
                    result = .failure(error)
                }
                self.ended(key, number)
                return result
            }
            state.flights[key] = Flight(task: task, number: number)
            return task
        }
        return try await task.value.get()
    }

    /// The number of callers that currently share an operation.
    var callers: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.callers } } }

    private func ended(_ key: Key, _ number: UInt64) {
        state.withLock { state in
            if state.flights[key]?.number == number { state.flights[key] = nil }
        }
    }
}
