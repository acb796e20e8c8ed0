@_spi(StoredForm) import Experimentation
import Foundation

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
