import Experimentation
import Foundation
internal import GRDB

/// What can be wrong with an existing store file.
enum StoreFault: Error, Equatable {
    /// It is damaged: not a database, or with contradictory pages.
    case damaged
    /// It is a database of another application.
    case foreign
    /// A later version of this library wrote it.
    case newer(version: Int)
    /// It has reached its own limit, apart from the reserve.
    case full
    /// It belongs to another account.
    case someoneElses
    /// It is no longer at its path.
    case replaced
}

extension ExperimentationError {
    /// Converts an error of the database or the system, without statements or their values.
    static func store(_ error: any Error, name: String) -> ExperimentationError {
        switch error {
        case let error as ExperimentationError:
            error
        case StoreFault.damaged:
            ExperimentationError(
                .store,
                "\(name) is damaged, and another process has it open; it is set aside when it is opened alone."
            )
        case StoreFault.foreign:
            ExperimentationError(.configuration, "\(name) is a database of something else. Name another file.")
        case StoreFault.newer(let version):
            ExperimentationError(
                .store,
                "\(name) was written by a later version of this library (schema \(version), known are "
                    + "1 to \(StoreSchema.version)). It was left as it is."
            )
        case StoreFault.full:
            ExperimentationError(.store, "\(name): the store is full.")
        case StoreFault.replaced:
            ExperimentationError(.store, "\(name) was deleted or replaced while it was open.")
        case StoreFault.someoneElses:
            ExperimentationError(
                .configuration,
                "\(name) belongs to another vendor or account; its events would go to the wrong one. Name another file."
            )
        case let error as DatabaseError:
            ExperimentationError(.store, "\(name): \(reason(error))", cause: Code(error))
        case let error as POSIXError:
            ExperimentationError(
                .store,
                "\(name) can't be used: \(String(cString: strerror(error.code.rawValue)))."
                    + ([.EACCES, .EPERM, .EROFS].contains(error.code) ? " Its folder must be writable." : ""),
                cause: error
            )
        default:
            ExperimentationError(.store, "\(name) can't be used.", cause: error)
        }
    }

    private static func reason(_ error: DatabaseError) -> String {
        switch error.resultCode {
        case .SQLITE_FULL: "the disk, or the store, is full."
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another process keeps it locked."
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: "it is damaged; it is set aside when it is opened the next time."
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: "it may not be written."
        case .SQLITE_CANTOPEN: "it can't be opened."
        case .SQLITE_IOERR: "the disk failed."
        case .SQLITE_MISUSE: "it has been closed."
        default: "the database failed with code \(error.extendedResultCode.rawValue)."
        }
    }

    /// The database's error code, without the statement and its values.
    private struct Code: Error, CustomStringConvertible {
        var description: String
        init(_ error: DatabaseError) { description = "SQLite code \(error.extendedResultCode.rawValue)" }
    }
}

extension Error {
    /// Whether the database file itself is at fault.
    var isDamage: Bool {
        if self as? StoreFault == .damaged { return true }
        guard let error = self as? DatabaseError else { return false }
        return error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
    }

    /// Whether the disk is full.
    var isFull: Bool { (self as? DatabaseError)?.resultCode == .SQLITE_FULL }

    /// Whether there is no room, including for files that SQLite needs only while the database is open.
    var isWithoutRoom: Bool {
        let code = (self as? DatabaseError)?.resultCode
        return code == .SQLITE_FULL || code == .SQLITE_IOERR || code == .SQLITE_CANTOPEN
    }

    /// Whether another connection has the database locked.
    var isBusy: Bool { (self as? DatabaseError)?.resultCode == .SQLITE_BUSY }
}
