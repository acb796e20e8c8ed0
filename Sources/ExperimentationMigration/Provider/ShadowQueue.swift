import Experimentation
import Synchronization

/// Runs shadows off the reader's path: a few at once, a few more waiting, and the rest dropped and counted.
final class ShadowQueue: Sendable {
    typealias Work = @Sendable () async -> Void

    /// What became of comparisons.
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
        /// The workers that run, by number.
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

    /// Takes a piece of work, or drops it; returns at once.
    func submit(_ work: @escaping Work) {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.counts.submitted += 1
            if state.counts.running < workers {
                state.counts.running += 1
                state.lastNumber += 1
                let number = state.lastNumber
                // Made under the lock: a worker that ends at once removes itself after it was noted.
                state.tasks[number] = Task(priority: priority) { await run(work, number) }
            } else if state.line.count < waiting {
                state.line.append(work)
            } else {
                state.counts.dropped += 1
            }
        }
    }

    /// Drops what waits, cancels what is under way, and takes nothing more.
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
