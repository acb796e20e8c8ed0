internal import GRDB
import Synchronization

extension GroupCommit {
    /// Deletes the rows of completed deliveries when there is nothing else to do, step by step, so that accepting an
    /// event never waits for all of it.
    ///
    /// - Parameter isLarge: Called at the end if the file is then much larger than what is in it.
    func clearLater(ifLarge isLarge: @escaping @Sendable () -> Void) {
        let clearing = Job(kind: .removal) { [self] database, table in
            try table.clearDelivered(atMost: OutboxTable.headPortion, database)
            if table.hasHead { return {} }
            let isLargeNow = try table.isLargeAndEmpty(database)
            return { [self] in
                waiting.withLock { $0.clearing = nil }
                if isLargeNow { isLarge() }
            }
        } fail: { [self] _ in
            // The next operation on a delivery deletes them.
            waiting.withLock { $0.clearing = nil }
        }
        let isFirst = waiting.withLock { waiting in
            waiting.clearing = clearing
            if waiting.isRunning { return false }
            waiting.isRunning = true
            return true
        }
        if isFirst { goOn() }
    }

    /// Gives up the reserve, and empties the log with it.
    ///
    /// - Returns: Whether there was anything to give up.
    func makeRoom(_ database: Database) -> Bool {
        guard reserve.spend() else { return false }
        try? emptyLog(database)
        return true
    }
}
