import Experimentation
import Foundation
internal import GRDB

/// Opens a store file: exclusively if possible, checked, and replaced if it is damaged.
struct StoreOpening: Sendable {
    /// The files.
    let file: StoreFile
    private let account: String?
    private let options: StoreOptions

    /// The result of opening.
    struct Opened {
        var connection: StoreConnection
        var lock: FileLock
        var hasSetAsideDamage: Bool
        /// Whether there was nothing at the path.
        var isNew: Bool
    }

    /// Prepares to open a file.
    ///
    /// - Parameters:
    ///   - file: The files.
    ///   - account: A digest of the events' owner, if that is to be checked.
    ///   - options: The store's settings.
    init(_ file: StoreFile, for account: String?, _ options: StoreOptions) {
        self.file = file
        self.account = account
        self.options = options
    }

    /// Opens the file.
    ///
    /// - Returns: The open file, with the findings of opening it.
    /// - Throws: ``ErrorCode/store`` if it can't be opened; ``ErrorCode/configuration`` if it belongs to another account
    ///   or another program.
    func open() throws -> Opened {
        try file.prepareFolder()
        let lock = try FileLock(path: file.lockPath)
        let isAlone = lock.takeAlone()
        let seconds = Double(options.busyTimeout.components.seconds) + 1
        guard isAlone || lock.takeTogether(within: seconds) else {
            throw ExperimentationError(.store, "\(file.name): another process keeps it locked.")
        }
        // A process that died while it replaced a damaged file had already set that file aside.
        var hasSetAsideDamage = isAlone && file.takeRepaired()
        let isNew = try file.prepare()
        // The copy in the lock file is about the database that was here before.
        if isNew, isAlone { lock.clear() }
        let copy = isNew ? nil : lock.accounts()
        var connection: StoreConnection
        do {
            if file.isEmpty, let copy, !copy.lanes.isEmpty { throw StoreFault.damaged }
            connection = try connect(isAlone: isAlone)
        } catch  where error.isDamage && isAlone {
            // The failed connection is closed by now; a database that is moved while open would lose its log.
            connection = try replace(copy)
            hasSetAsideDamage = true
        }
        try connection.database.writeWithoutTransaction { try takeOver($0, isAlone: isAlone) }
        if isAlone {
            file.forgetRepaired()
            _ = lock.takeTogether(within: seconds)
        }
        return Opened(connection: connection, lock: lock, hasSetAsideDamage: hasSetAsideDamage, isNew: isNew)
    }

    /// Records the file's owner, and takes back the leases of dead processes; on a full disk both are postponed.
    private func takeOver(_ database: Database, isAlone: Bool) throws {
        do {
            if let account { try Self.claim(account, database) }
            // All leases belong to dead processes: no other process has the file open.
            if isAlone { try StoredLane.takeBack(database) }
        } catch  where error.isFull {
            if database.isInsideTransaction { try database.rollback() }
        }
    }

    /// Records the file's owner, or finds that it belongs to another.
    private static func claim(_ account: String, _ database: Database) throws {
        try database.inTransaction(.immediate) {
            let owner = try StateTable.value(for: StateTable.account, database)
            if owner == nil { try StateTable.set(Array(account.utf8), for: StateTable.account, database) }
            guard owner == nil || owner == Array(account.utf8) else { throw StoreFault.someoneElses }
            return .commit
        }
    }

    private func connect(isAlone: Bool) throws -> StoreConnection {
        do {
            return try connect(isExclusive: false)
        } catch  where isAlone && error.isWithoutRoom {
            // There is no room for the log's index, which is then kept in memory; migrating an older file may still
            // need some.
            if error.isFull { unlinkReserve() }
            return try connect(isExclusive: true)
        }
    }

    private func unlinkReserve() { try? FileManager.default.removeItem(atPath: file.reservePath) }

    private func connect(isExclusive: Bool) throws -> StoreConnection {
        try StoreConnection(path: file.path, options, isExclusive: isExclusive)
    }

    private func replace(_ copy: AccountsCopy?) throws -> StoreConnection {
        let salvage = try Salvage(file, copy: copy)
        // Damage doesn't change the owner.
        if let account, let owner = salvage.contents.owner, owner != Array(account.utf8) {
            throw StoreFault.someoneElses
        }
        try write(salvage.contents)
        try file.setAside()
        guard file.takeRepaired() else { throw POSIXError(.EIO) }
        return try connect(isAlone: true)
    }

    /// Writes what was read to a file of its own: if that fails or the process dies, the damaged file is still there.
    private func write(_ contents: StoreContents) throws {
        defer { file.forgetSalvage() }
        try StoreFile(URL(fileURLWithPath: file.salvagePath)).prepare()
        var options = options
        // What waits is kept, even if the limit was lowered; the next event makes room.
        options.limits.maximumBytes = .max
        let connection = try StoreConnection(path: file.salvagePath, options, isExclusive: true)
        defer { connection.close() }
        try connection.database.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
                var table = OutboxTable(limits: options.limits)
                try table.refresh(database)
                try table.take(contents, isContinued: true, database)
                return .commit
            }
            try database.checkpoint(.truncate)
        }
        connection.close()
        try file.finishRepair()
    }
}
