import Experimentation
import Foundation
import Synchronization

/// A few connections, each with a thread of its own: nothing here blocks a thread of Swift's concurrency.
final class ConnectionPool: Sendable {
    let address: PostgresAddress
    let schema: String
    let patience: Duration
    private let queue = JobQueue()

    /// Begins without a connection; each thread makes one when it is first needed.
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

    /// Ends the threads, each after what it is doing; whoever waits is told.
    func close() { queue.close() }

    /// Carries out a transaction.
    ///
    /// A task that is cancelled while it waits for a connection stops waiting; what has begun is carried out.
    ///
    /// - Parameters:
    ///   - mode: What it is for.
    ///   - body: The transaction; carried out again if it was in another's way, or the server has restarted.
    /// - Returns: What it gives.
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

/// What waits for a thread with a connection.
final class JobQueue: Sendable {
    /// What a thread is to do with its connection; told so if there is to be none.
    typealias Job = @Sendable (Worker?) -> Void

    /// Where a job waits.
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

    /// So many threads ask for jobs.
    func expect(_ threads: Int) { state.withLock { $0.threads = threads } }

    /// The next job, as soon as there is one; none at the end.
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

    /// Adds a job, or tells it at once that there is no connection for it.
    func add(at place: Place, _ job: @escaping Job) {
        let isTaken = state.withLock { state in
            guard !state.isClosed, !place.isCancelled.withLock({ $0 }) else { return false }
            state.jobs.append((place, job))
            return true
        }
        if isTaken { signal.signal() } else { job(nil) }
    }

    /// Takes a job back, if it still waits.
    func remove(at place: Place) {
        let job = state.withLock { state -> Job? in
            place.isCancelled.withLock { $0 = true }
            return state.jobs.firstIndex { $0.place === place }.map { state.jobs.remove(at: $0).job }
        }
        job?(nil)
    }

    /// Ends the threads; whoever waits is told.
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
