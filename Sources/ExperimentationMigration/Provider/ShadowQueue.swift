import Experimentation
import Synchronization

/// Runs shadows off the read path: a few concurrently, a few waiting, the rest dropped and counted.
final class ShadowQueue: Sendable {
    typealias Work = @Sendable () async -> Void

    /// The counts of comparisons.
    struct Counts: Sendable, Hashable {
        var submitted = 0
        var finished = 0
        var dropped = 0
        var running = 0
        var waiting = 0
    }

    private struct State {
        var counts = Counts()
        var line: [Work] = []
        var isClosed = false
        /// The running workers, by number.
        var tasks: [Int: Task<Void, Never>] = [:]
        var lastNumber = 0
    }

    private let state = Mutex(State())
    private let workers: Int
    private let waiting: Int
    private let priority: TaskPriority

    init(_ policy: ShadowPolicy) {
        workers = policy.workers
        waiting = policy.waiting
        priority = policy.isInBackground ? .background : .medium
    }

    var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.line.count
            return counts
        }
    }

    /// Queues work, or drops it if the queue is full; returns at once.
    ///
    /// - Parameters:
    ///   - isComparison: Whether it counts if it is dropped.
    ///   - work: The work.
    func submit(isComparison: Bool, _ work: @escaping Work) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.counts.submitted += 1
            if state.counts.running < workers {
                state.counts.running += 1
                state.lastNumber += 1
                let number = state.lastNumber
                // Created under the lock, so that it is registered before it can remove itself.
                state.tasks[number] = Task(priority: priority) { await run(work, number) }
            } else if state.line.count < waiting {
                state.line.append(work)
            } else if isComparison {
                state.counts.dropped += 1
            }
        }
    }

    /// Drops waiting work, cancels running work, and accepts no more.
    func close() {
        let tasks = state.withLock { state in
            state.isClosed = true
            state.counts.dropped += state.line.count
            state.line = []
            return Array(state.tasks.values)
        }
        for task in tasks { task.cancel() }
    }

    private func run(_ first: @escaping Work, _ number: Int) async {
        var next: Work? = first
        while let work = next {
            await work()
            next = state.withLock { state in
                state.counts.finished += 1
                if !state.line.isEmpty { return state.line.removeFirst() }
                state.counts.running -= 1
                state.tasks[number] = nil
                return nil
            }
        }
    }
}
