import Experimentation
import Foundation
internal import GRDB

/// How a store file is opened: alone if possible, checked, and replaced if it is damaged.
struct StoreOpening {
    private let file: StoreFile
    private let durability: Durability
    private let limits: StoreLimits
    private let busyTimeout: Duration

    /// What opening gave.
    struct Opened {
        var connection: StoreConnection
        var lock: FileLock
        var hasSetAsideDamage: Bool
    }

    /// Prepares to open a file.
    init(_ file: StoreFile, _ durability: Durability, _ limits: StoreLimits, _ busyTimeout: Duration) {
        self.file = file
        self.durability = durability
        self.limits = limits
        self.busyTimeout = busyTimeout
    }

    /// Opens the file.
    ///
    /// - Parameter account: A digest of whose events these are, if that is to be checked.
    /// - Returns: The open file, with what was found out on the way.
    /// - Throws: ``ErrorCode/store`` when it can't be opened, or belongs to another account.
    func open(for account: String?) throws -> Opened {
        let lock = try FileLock(path: file.lockPath)
        let isAlone = lock.takeAlone()
        let seconds = Double(busyTimeout.components.seconds) + 1
        guard isAlone || lock.takeTogether(within: seconds) else {
            throw ExperimentationError(.store, "\(file.path): another process keeps it locked.")
        }
        var connection: StoreConnection
        var hasSetAsideDamage = false
        do {
            connection = try connect(file.path)
        } catch  where error.isDamage && isAlone {
            // The failed connection is gone by now; a database that is moved while it is open would lose its log.
            connection = try replace(for: account)
            hasSetAsideDamage = true
        }
        if let account { try connection.database.writeWithoutTransaction { try Self.claim(account, $0) } }
        if isAlone {
            // Whoever leased something is dead: nobody else has the file open.
            try connection.database.writeWithoutTransaction { try OutboxTable.takeBackLeases($0) }
            _ = lock.takeTogether(within: seconds)
        }
        return Opened(connection: connection, lock: lock, hasSetAsideDamage: hasSetAsideDamage)
    }

    /// Writes down whose file it is, or finds out that it is another's.
    private static func claim(_ account: String, _ database: Database) throws {
        try database.inTransaction(.immediate) {
            let owner = try StateTable.value(for: StateTable.account, database)
            if owner == nil { try StateTable.set(Data(account.utf8), for: StateTable.account, database) }
            guard owner == nil || owner == Array(account.utf8) else { throw StoreFault.someoneElses }
            return .commit
        }
    }

    private func connect(_ path: String) throws -> StoreConnection {
        try StoreConnection(path: path, durability: durability, limits: limits, busyTimeout: busyTimeout)
    }

    private func replace(for account: String?) throws -> StoreConnection {
        let salvage = Salvage(path: file.path)
        // Damage makes nobody else the owner.
        if let account, let owner = salvage.owner, owner != Array(account.utf8) { throw StoreFault.someoneElses }
        try file.setAside()
        try file.prepare()
        let connection = try connect(file.path)
        try connection.database.writeWithoutTransaction { try salvage.write(to: $0) }
        return connection
    }
}
