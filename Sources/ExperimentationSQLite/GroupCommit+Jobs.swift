import Experimentation
internal import GRDB

extension GroupCommit {
    /// What a piece of work does to the database.
    enum Kind: Sendable {
        /// It only reads; works on a full disk too.
        case read
        /// It adds something, inside a transaction that it may share.
        case write
        /// It removes something or leads to that, in such a transaction; if the disk is full, the reserve is given up for it.
        case removal
    }

    /// A piece of work.
    struct Job: Sendable {
        var kind: Kind
        /// Does the work, and returns what tells the caller; that is called after the commit.
        var work: @Sendable (Database, inout OutboxTable) throws -> @Sendable () -> Void
        var fail: @Sendable (ExperimentationError) -> Void
    }

    /// What is to be done.
    struct Waiting {
        var jobs: [Job] = []
        var isRunning = false
        /// What rewrites the file when there is nothing else to do, and who waits for that.
        var erasing: Erasing?
        var erasingAnswers: [@Sendable (Result<Void, ExperimentationError>) -> Void] = []
        /// How many groups went before it.
        var groupsBeforeErasing = 0
        /// Whether it begins by itself after a while.
        var isErasingPlanned = false
        /// How many seconds it took the last time.
        var lastErasing = 0.0
    }
}
