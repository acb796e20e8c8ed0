import Experimentation
internal import GRDB
import Synchronization

extension GroupCommit {
    /// The effect of a job on the database.
    enum Kind: Sendable {
        /// It only reads; works on a full disk too.
        case read
        /// It adds something, in a transaction that it may share.
        case write
        /// It removes something or leads to a removal, in a transaction that it may share; if the disk is full, the
        /// reserve is given up for it.
        case removal
    }

    /// A unit of work.
    struct Job: Sendable {
        var kind: Kind
        /// Does the work, and returns a closure that answers the caller after the commit.
        var work: @Sendable (Database, inout OutboxTable) throws -> @Sendable () -> Void
        var fail: @Sendable (ExperimentationError) -> Void
    }

    /// The jobs that a transaction didn't carry out.
    struct Left {
        var jobs: [Job] = []
        /// Whether the jobs belong to another file; otherwise they are retried on the queue.
        var isElsewhere = false
    }

    /// The work to do.
    struct Waiting {
        var jobs: [Job] = []
        var isRunning = false
        /// The rewriting of the file, for when there is nothing else to do, and who waits for it.
        var erasing: Erasing?
        var erasingAnswers: [@Sendable (Result<Void, ExperimentationError>) -> Void] = []
        /// The number of groups that went before it.
        var groupsBeforeErasing = 0
        /// Whether a timer will start it.
        var isErasingPlanned = false
        /// The number of seconds that it took last time.
        var lastErasing = 0.0
        /// The deletion of completed deliveries' rows, for when there is nothing else to do.
        var clearing: Job?

        /// Takes the first jobs: nearly always all of them.
        mutating func takeJobs(atMost most: Int) -> [Job] {
            let taken = jobs
            jobs = []
            if taken.count <= most { return taken }
            jobs = Array(taken[most...])
            return Array(taken[..<most])
        }
    }

    /// Takes the jobs that came before a transaction's wait for the disk, and so share it.
    func arrived(after count: Int) -> [Job] {
        if runsOnCaller || count >= Self.largestGroup { return [] }
        return waiting.withLock { $0.jobs.isEmpty ? [] : $0.takeJobs(atMost: Self.largestGroup - count) }
    }
}
