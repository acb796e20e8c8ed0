import Experimentation
import Foundation
import Synchronization

/// Some connections, each with a thread of its own, so that no thread of Swift's cooperative pool is blocked.
final class ConnectionPool: Sendable {
    let address: PostgresAddress
    let schema: String
    let patience: Duration
    private let queue = JobQueue()

    /// Creates a pool without connections; each thread connects on first use.
    init(to address: PostgresAddress, schema: String, connections: Int, patience: Duration) {
        self.address = address
        self.schema = schema
        self.patience = patience
        for number in 1...max(1, connections) {
            let thread = Thread { [queue] in
                let worker = Worker(to: address, schema: schema)
                while let job = queue.next() { job(worker) }
            }
            thread.name = "postgres-\(number)"
            thread.start()
        }
        queue.expect(max(1, connections))
    }

    deinit { queue.close() }

    /// Stops each thread after its current job; waiting callers get an error.
    func close() { queue.close() }

    /// Runs a transaction.
    ///
    /// Cancelling a task that waits for a connection ends the wait; a transaction that has begun is completed.
    ///
    /// - Parameters:
    ///   - mode: The mode of the transaction.
    ///   - body: The transaction; repeated after a conflict or a restart of the server.
    /// - Returns: The result of `body`.
    /// - Throws: `ErrorCode.store`.
    func transaction<Value: Sendable>(
        _ mode: Transaction.Mode = .writing,
        _ body: @escaping @Sendable (Transaction) throws(ConnectionFailure) -> Value
    ) async throws(ExperimentationError) -> Value {
        let deadline = Deadline(patience)
        let place = JobQueue.Place()
        let result: Result<Value, ConnectionFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.add(at: place) { worker in
                    continuation.resume(
                        returning: worker?.transaction(mode, by: deadline, body) ?? .failure(.lost("it was given up"))
                    )
                }
            }
        } onCancel: {
            queue.remove(at: place)
        }
        switch result {
        case .success(let value): return value
        case .failure(let failure): throw failure.error
        }
    }
}

/// The jobs that wait for a thread with a connection.
final class JobQueue: Sendable {
    /// A job for a thread and its connection; gets `nil` if there will be none.
    typealias Job = @Sendable (Worker?) -> Void

    /// The identity of a job, by which it can be removed.
    final class Place: Sendable {
        fileprivate let isCancelled = Mutex(false)
    }

    private struct State {
        var jobs: [(place: Place, job: Job)] = []
        var threads = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let signal = DispatchSemaphore(value: 0)

    /// Sets the number of threads that take jobs.
    func expect(_ threads: Int) { state.withLock { $0.threads = threads } }

    /// Waits for the next job; `nil` once the queue is closed.
    func next() -> Job? {
        while true {
            signal.wait()
            let (job, isClosed) = state.withLock { state in
                (state.jobs.isEmpty ? nil : state.jobs.removeFirst().job, state.isClosed)
            }
            if let job { return job }
            if isClosed { return nil }
        }
    }

    /// Adds a job; calls it immediately with `nil` if the queue is closed or the place was removed.
    func add(at place: Place, _ job: @escaping Job) {
        let isTaken = state.withLock { state in
            guard !state.isClosed, !place.isCancelled.withLock({ $0 }) else { return false }
            state.jobs.append((place, job))
            return true
        }
        if isTaken { signal.signal() } else { job(nil) }
    }

    /// Removes a place: calls its waiting job with `nil`, and rejects one that is added later.
    func remove(at place: Place) {
        let job = state.withLock { state -> Job? in
            place.isCancelled.withLock { $0 = true }
            return state.jobs.firstIndex { $0.place === place }.map { state.jobs.remove(at: $0).job }
        }
        job?(nil)
    }

    /// Stops the threads; waiting callers get an error.
    func close() {
        let (left, threads) = state.withLock { state in
            state.isClosed = true
            defer { (state.jobs, state.threads) = ([], 0) }
            return (state.jobs, state.threads)
        }
        for (_, job) in left { job(nil) }
        for _ in 0..<threads { signal.signal() }
    }
}
