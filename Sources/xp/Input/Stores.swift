import Experimentation
import ExperimentationSQLite
import Foundation

/// Store files that somebody named.
enum Stores {
    // A file of events is not an application's outbox: it may be as large as the disk allows.
    private static let limits = StoreLimits(maximumCount: 50_000_000, maximumBytes: 16_000_000_000)

    /// Opens a store file, makes it if need be, or gives one in memory if none is named.
    ///
    /// The file belongs to the provider's account from then on, and to no other.
    static func open(_ path: String?, for provider: any ExperimentationProvider) async throws -> ClientStore {
        guard let path else { return .inMemory() }
        do {
            return try await .sqlite(at: URL(filePath: path), for: provider, limits: limits)
        } catch {
            throw Failure(.input, "\(path): \(error.message)")
        }
    }

    /// Opens a store file that must be there, and belong to the provider's account if one is given.
    static func openExisting(_ path: String, for provider: (any ExperimentationProvider)? = nil) throws -> SQLiteStore {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw Failure(.input, "\(path): no such file")
        }
        guard !isFolder.boolValue else { throw Failure(.input, "\(path): expected a store file, found a folder") }
        let beginning = FileHandle(forReadingAtPath: path).flatMap { try? $0.read(upToCount: 16) } ?? Data()
        guard beginning.starts(with: Data("SQLite format 3".utf8)) else {
            throw Failure(.input, "\(path): expected a store file, found something else")
        }
        do {
            return try SQLiteStore(at: URL(filePath: path), for: provider, limits: limits)
        } catch {
            throw Failure(.input, "\(path): \(error.message)")
        }
    }
}
