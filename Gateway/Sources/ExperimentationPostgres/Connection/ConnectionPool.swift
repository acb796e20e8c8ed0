import Experimentation
import Foundation
import Synchronization

/// A pool of connections, each with a thread of its own, so that none of Swift's cooperative threads is blocked.
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
    /// The transaction is carried out even if the calling task is cancelled: an answer that arrives while a client ends
    /// must be stored, and work that a caller does for others must not fail with that caller. The time limit ends a
    /// wait.
    ///
    /// - Parameters:
    ///   - mode: The mode of the transaction.
    ///   - limit: The time limit, if it differs from the ordinary one, which still applies to connecting.
    ///   - body: The transaction; repeated after a conflict or a restart of the server.
    /// - Returns: The result of `body`.
    /// - Throws: `ErrorCode.store`.
    func transaction<Value: Sendable>(
        _ mode: Transaction.Mode = .writing,
        within limit: Duration? = nil,
        _ body: @escaping @Sendable (Transaction) throws(ConnectionFailure) -> Value
    ) async throws(ExperimentationError) -> Value {
        switch await outcome(mode, within: limit, body) {
        case .success(let value): return value
        case .failure(let failure): throw failure.error
        }
    }

    /// Runs a transaction as ``transaction(_:within:_:)`` does, but returns a failure as the connection's error.
    func outcome<Value: Sendable>(
        _ mode: Transaction.Mode = .writing,
        within limit: Duration? = nil,
        _ body: @escaping @Sendable (Transaction) throws(ConnectionFailure) -> Value
    ) async -> Result<Value, ConnectionFailure> {
        let deadline = Deadline(limit ?? patience)
        return await withCheckedContinuation { continuation in
            queue.add { [patience] worker in
                let result = worker?.transaction(mode, by: deadline, patience: patience, body)
                continuation.resume(returning: result ?? .failure(.lost("the store is closed")))
            }
        }
    }
}

/// The jobs that wait for a thread with a connection.
final class JobQueue: Sendable {
    /// A job for a thread and its connection; called with `nil` if no thread will run it.
    typealias Job = @Sendable (Worker?) -> Void

    private struct State {
        var jobs: [Job] = []
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
                (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isClosed)
            }
            if let job { return job }
            if isClosed { return nil }
        }
    }

    /// Adds a job; calls it immediately with `nil` if the queue is closed.
    func add(_ job: @escaping Job) {
        let isTaken = state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return !state.isClosed
        }
        if isTaken { signal.signal() } else { job(nil) }
    }

    /// Stops the threads; waiting callers get an error.
    func close() {
        let (left, threads) = state.withLock { state in
            state.isClosed = true
            defer { (state.jobs, state.threads) = ([], 0) }
            return (state.jobs, state.threads)
        }
        for job in left { job(nil) }
        for _ in 0..<threads { signal.signal() }
    }
}
