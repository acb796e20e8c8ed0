#if os(Linux)
    import Foundation
    import Synchronization

    /// Runs the tasks of this process one job at a time, in an order drawn from a seed.
    ///
    /// It replaces the executor that all tasks share, so it belongs in a process of its own: an exit test. Nothing then
    /// happens but what the test lets happen, and there is nothing left to do exactly when no job is ready, so that a lost
    /// wake-up shows at once. A seed repeats the whole course, except for the order of sets and dictionaries.
    final class TurnsByChance {
        private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
        private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

        private static let ready = Mutex<[UnownedJob]>([])
        /// The runtime's hook for jobs that would go to the executor that all tasks share.
        nonisolated(unsafe) private static let hook = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook")?
            .assumingMemoryBound(to: Hook?.self)

        private var dice = Dice(0)

        private init() {}

        /// Replaces the executor during a closure.
        static func take(_ play: (TurnsByChance) -> Void) {
            hook?.pointee = { job, _ in TurnsByChance.ready.withLock { $0.append(job) } }
            defer { hook?.pointee = nil }
            play(TurnsByChance())
        }

        /// Runs what an earlier game has left, and draws from other dice from now on.
        func begin(_ dice: Dice) {
            _ = settle()
            self.dice = dice
        }

        /// Whether no job is ready.
        var isSettled: Bool { Self.ready.withLock { $0.isEmpty } }

        /// Runs one of the jobs that are ready, if there is one.
        func next() {
            let job = Self.ready.withLock { $0.isEmpty ? nil : $0.remove(at: dice.below($0.count)) }
            // The executor that all tasks share has no identity.
            job?.runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
        }

        /// Runs jobs until none is ready.
        ///
        /// - Returns: Whether that happened; it doesn't if jobs cause one another endlessly.
        func settle() -> Bool {
            for _ in 0..<100_000 where !isSettled { next() }
            return isSettled
        }
    }
#endif
