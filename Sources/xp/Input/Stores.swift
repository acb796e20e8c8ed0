import ArgumentParser
import Experimentation
import ExperimentationSQLite
import Foundation

extension ClientStore {
    fileprivate init(_ file: SQLiteStore) { self.init(outbox: file, state: file) }
}

/// Opens store files named on the command line.
enum Stores {
    // Unlike an application's outbox, a file of events may use the whole disk.
    private static let limits = StoreLimits(maximumCount: 50_000_000, maximumBytes: 16_000_000_000)

    /// Opens or creates a store file; without a path, returns a store in memory.
    ///
    /// The file then belongs to the provider's account and is rejected for any other.
    static func open(_ path: String?, for provider: any ExperimentationProvider) async throws -> ClientStore {
        guard let path else { return .inMemory() }
        if try exists(path) { try check(path, mayBeEmpty: true) }
        return ClientStore(try await opened(path, for: provider))
    }

    /// Opens an existing store file; checks that it belongs to the provider's account, if one is given.
    static func openExisting(
        _ path: String,
        for provider: (any ExperimentationProvider)? = nil
    ) async throws -> ClientStore { ClientStore(try await file(path, for: provider)) }

    /// Opens an existing store file, as ``openExisting(_:for:)`` does, for information that only files have.
    static func file(_ path: String, for provider: (any ExperimentationProvider)? = nil) async throws -> SQLiteStore {
        guard try exists(path) else { throw Failure(.input, "\(path): no such file") }
        try check(path, mayBeEmpty: false)
        return try await opened(path, for: provider)
    }

    /// Opens an empty store file in a folder that the caller removes.
    static func temporary(in folder: URL) async throws -> ClientStore {
        do {
            return try await .sqlite(at: folder.appending(path: "store.sqlite"), options: .init(limits: limits))
        } catch {
            throw Failure(.input, "\(folder.path): \(error.message)")
        }
    }

    /// Rejects an empty name.
    static func expectName(_ path: String?) throws {
        if path?.isEmpty == true { throw ValidationError("--store: expected the name of a file, found nothing") }
    }

    /// The path that the store opens, without `..` behind a folder that doesn't exist, nor a slash at the end.
    private static func place(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }

    private static func exists(_ path: String) throws -> Bool {
        guard !path.hasSuffix("/"), !path.hasSuffix("/.") else {
            throw Failure(.input, "\(path): expected the name of a store file, found a folder's")
        }
        return FileManager.default.fileExists(atPath: place(path))
    }

    /// Rejects files that aren't stores, such as the file of events: the store would set them aside as damaged.
    private static func check(_ path: String, mayBeEmpty: Bool) throws {
        let place = place(path)
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: place, isDirectory: &isFolder)
        guard !isFolder.boolValue else { throw Failure(.input, "\(path): expected a store file, found a folder") }
        // Opening a pipe would block, and a device may act on it.
        guard InputFile.isRegular(place) else {
            throw Failure(.input, "\(path): expected a store file, found a device or a pipe")
        }
        guard let handle = FileHandle(forReadingAtPath: place) else {
            throw Failure(.input, "\(path): can't be read; expected a store file that may be opened")
        }
        let beginning = (try? handle.read(upToCount: 16)) ?? Data()
        try? handle.close()
        guard beginning.isEmpty && mayBeEmpty || beginning.starts(with: Data("SQLite format 3".utf8)) else {
            throw Failure(.input, "\(path): expected a store file, found something else")
        }
    }

    private static func opened(
        _ path: String,
        for provider: (any ExperimentationProvider)?
    ) async throws -> SQLiteStore {
        let url = URL(filePath: path)
        do {
            return try await .opened(at: url, for: provider, options: .init(limits: limits), log: Damage(path: path))
        } catch {
            let isNamed = error.message.hasPrefix(path)
            throw Failure(.input, isNamed ? error.message : "\(path): \(error.message)")
        }
    }

    /// Reports a damaged store.
    private struct Damage: LogSink {
        let path: String
        let level = LogLevel.error

        func log(_ entry: LogEntry) { Terminal.say("xp: \(path): \(entry.message) See \(path).damaged") }
    }

    /// Returns the message for a store file that didn't respond in time.
    static func unanswering(_ path: String) -> String {
        "\(path), which doesn't answer: another process may keep it locked; "
            + "\"xp outbox status --store \(path)\" gives its ledger later"
    }
}
