internal import GRDB

/// Runs tasks between transactions, on the database's queue.
///
/// A task that stores one batch after another would otherwise wait for a thread twice between any two transactions.
extension GroupCommit: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        database.asyncWriteWithoutTransaction { [self] _ in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
