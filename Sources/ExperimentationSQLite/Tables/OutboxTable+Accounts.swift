@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension AccountsCopy {
    /// Copies the figures of a table.
    init(_ table: OutboxTable) {
        salt = table.consent.salts.first ?? Data()
        lastSequence = table.lastSequence
        for stored in table.lanes {
            lanes[stored.id] = Lane(
                destination: stored.lane.destination,
                ledger: stored.lane.ledger,
                head: stored.head
            )
        }
    }
}

/// When the ledgers are copied beside the file.
extension OutboxTable {
    /// The maximum number of accepted events before the ledgers are copied beside the file again.
    private static let mostBeforeCopy: Int64 = 256

    /// Whether to copy the ledgers beside the file, since a transaction has changed them.
    func isCopyDue(after before: OutboxTable) -> Bool {
        lastSequence - upkeep.copied >= Self.mostBeforeCopy || lanes.count != before.lanes.count
            || lanes.indices.contains { place in
                lanes[place].through != before.lanes[place].through || lanes[place].head != before.lanes[place].head
                    || lanes[place].lane.ledger.delivered != before.lanes[place].lane.ledger.delivered
                    || lanes[place].lane.ledger.purged != before.lanes[place].lane.ledger.purged
                    || lanes[place].lane.ledger.dropped != before.lanes[place].lane.ledger.dropped
            }
    }

    /// Whether something was accepted since the ledgers were copied beside the file.
    var isCopyBehind: Bool { lastSequence > upkeep.copied && !consent.salts.isEmpty }

    /// Restores the copy after a failed transaction, within another one, because other processes write the copy, too.
    func restoreCopy(_ lock: FileLock, _ database: Database) {
        try? HotStatement("BEGIN IMMEDIATE", database).run()
        defer { if database.isInsideTransaction { try? database.rollback() } }
        var found = self
        // If the file can't be read, uses what was last found in it.
        if (try? found.refresh(database)) == nil { found = self }
        if found.consent.salts.isEmpty { lock.clear() } else { lock.write(AccountsCopy(found)) }
    }

    /// Makes this transaction copy the ledgers.
    mutating func oweCopy() { upkeep.copied = min(upkeep.copied, lastSequence - Self.mostBeforeCopy) }
}
