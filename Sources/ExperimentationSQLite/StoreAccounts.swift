import Experimentation

/// What waits in a store, and its ledgers, as of one moment.
package struct StoreAccounts: Sendable, Hashable {
    /// The accounts of one destination.
    package struct Account: Sendable, Hashable {
        package let destination: Destination
        package let status: OutboxStatus
        package let ledger: Ledger
    }

    /// What waits for all destinations together; an event owed to two counts twice.
    package let status: OutboxStatus
    /// The ledger of all destinations together.
    package let ledger: Ledger
    /// The accounts of each destination, in the order in which the destinations were first named.
    package let destinations: [Account]

    /// Creates accounts.
    package init(status: OutboxStatus, ledger: Ledger, destinations: [Account]) {
        (self.status, self.ledger, self.destinations) = (status, ledger, destinations)
    }
}
