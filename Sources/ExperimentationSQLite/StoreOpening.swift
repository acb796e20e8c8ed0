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
    func open() throws -> Opened {
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
            connection = try replace()
            hasSetAsideDamage = true
        }
        if isAlone {
            // Whoever leased something is dead: nobody else has the file open.
            try connection.database.writeWithoutTransaction { try OutboxTable.takeBackLeases($0) }
            _ = lock.takeTogether(within: seconds)
        }
        return Opened(connection: connection, lock: lock, hasSetAsideDamage: hasSetAsideDamage)
    }

    private func connect(_ path: String) throws -> StoreConnection {
        try StoreConnection(path: path, durability: durability, limits: limits, busyTimeout: busyTimeout)
    }

    private func replace() throws -> StoreConnection {
        try file.setAside()
        try file.prepare()
        let connection = try connect(file.path)
        let salvage = Salvage(path: file.damagedPath)
        try connection.database.writeWithoutTransaction { try salvage.write(to: $0) }
        return connection
    }
}
