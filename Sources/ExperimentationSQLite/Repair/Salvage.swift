import Experimentation
import Foundation
internal import GRDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What can still be read from a damaged store.
///
/// SQLite refuses a file that is shorter than its header says, so a copy padded with zeros is read; the missing part is
/// a hole that is read around.
struct Salvage: Sendable {
    /// The contents that were read, with balanced ledgers.
    let contents: StoreContents

    /// Reads a damaged database; finding nothing is a valid result.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - copy: The ledgers copied beside it, if any.
    /// - Throws: The system's error if the file can't be copied; what couldn't be read for that reason isn't lost.
    init(_ file: StoreFile, copy: AccountsCopy?) throws {
        file.forgetSalvage()
        defer { file.forgetSalvage() }
        try Self.fill(file)
        var contents = Self.read(file.salvagePath, copy)
        contents.balance(with: copy)
        self.contents = contents
    }

    private static func read(_ path: String, _ copy: AccountsCopy?) -> StoreContents {
        var configuration = Configuration()
        configuration.label = "ExperimentationSQLite.salvage"
        guard let database = try? DatabaseQueue(path: path, configuration: configuration) else {
            return StoreContents()
        }
        defer { try? database.close() }
        return database.writeWithoutTransaction { database in
            // Read the rest even if one entry of the schema is wrong, and ignore the file's size.
            try? database.execute(sql: "PRAGMA writable_schema = ON")
            return FormerStoreReader.fits(database)
                ? FormerStoreReader(database: database).contents()
                : StoreReader(database: database, copy: copy).contents()
        }
    }

    /// Copies the database and its log, and pads the copy to the size that its header states.
    private static func fill(_ file: StoreFile) throws {
        let manager = FileManager.default
        do {
            try manager.copyItem(atPath: file.path, toPath: file.salvagePath)
            if manager.fileExists(atPath: file.path + "-wal") {
                try manager.copyItem(atPath: file.path + "-wal", toPath: file.salvagePath + "-wal")
            }
        } catch {
            // The error without the file's path.
            throw (error as? CocoaError)?.underlying as? POSIXError ?? POSIXError(.EIO)
        }
        let descriptor = open(file.salvagePath, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw lastError }
        defer { close(descriptor) }
        fchmod(descriptor, 0o600)
        var header = [UInt8](repeating: 0, count: 32)
        let read = pread(descriptor, &header, header.count, 0)
        let pages = header[28..<32].reduce(0) { $0 << 8 | Int($1) }
        // Read the log's contents even if nothing is left of the database itself.
        let size = max(read < 32 ? 1 : min(pages, mostPages), 1) * 4_096
        var facts = stat()
        guard fstat(descriptor, &facts) == 0 else { throw lastError }
        if Int(facts.st_size) < size, ftruncate(descriptor, off_t(size)) != 0 { throw lastError }
    }

    private static var lastError: POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    /// A gigabyte: a header that states more is damaged.
    private static let mostPages = 262_144
}
