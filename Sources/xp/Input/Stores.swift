import ArgumentParser
import Experimentation
import ExperimentationSQLite
import Foundation

/// Store files named on the command line.
enum Stores {
    // A file of events is not an application's outbox: it may be as large as the disk allows.
    private static let limits = StoreLimits(maximumCount: 50_000_000, maximumBytes: 16_000_000_000)

    /// Opens a store file, makes it if need be, or gives one in memory if none is named.
    ///
    /// The file belongs to the provider's account from then on, and to no other.
    static func open(_ path: String?, for provider: any ExperimentationProvider) async throws -> ClientStore {
        guard let path else { return .inMemory() }
        if FileManager.default.fileExists(atPath: path) { try check(path, mayBeEmpty: true) }
        return try await opened(path, for: provider)
    }

    /// Opens a store file that must be there, and belong to the provider's account if one is given.
    static func openExisting(
        _ path: String,
        for provider: (any ExperimentationProvider)? = nil
    ) async throws -> ClientStore {
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.input, "\(path): no such file") }
        try check(path, mayBeEmpty: false)
        return try await opened(path, for: provider)
    }

    /// Opens an empty store file that is removed with the folder it is in.
    static func temporary(in folder: URL) async throws -> ClientStore {
        do {
            return try await .sqlite(at: folder.appending(path: "store.sqlite"), options: .init(limits: limits))
        } catch {
            throw Failure(.input, "\(folder.path): \(error.message)")
        }
    }

    /// Refuses a name that is none.
    static func expectName(_ path: String?) throws {
        if path?.isEmpty == true { throw ValidationError("--store: expected the name of a file, found nothing") }
    }

    /// Refuses what isn't a store, before it would be set aside as a damaged one: the argument may be the file of events.
    private static func check(_ path: String, mayBeEmpty: Bool) throws {
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        guard !isFolder.boolValue else { throw Failure(.input, "\(path): expected a store file, found a folder") }
        // A pipe would be waited for, and a device obeyed.
        guard InputFile.isRegular(path) else {
            throw Failure(.input, "\(path): expected a store file, found a device or a pipe")
        }
        guard let handle = FileHandle(forReadingAtPath: path) else {
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
    ) async throws -> ClientStore {
        let url = URL(filePath: path)
        do {
            return try await .sqlite(at: url, for: provider, options: .init(limits: limits), log: Damage(path: path))
        } catch {
            let isNamed = error.message.hasPrefix(path)
            throw Failure(.input, isNamed ? error.message : "\(path): \(error.message)")
        }
    }

    /// Says that a store was damaged.
    private struct Damage: LogSink {
        let path: String
        let level = LogLevel.error

        func log(_ entry: LogEntry) { Terminal.say("xp: \(path): \(entry.message) See \(path).damaged") }
    }

    /// What to say of a store file that didn't answer before the time was up.
    static func unanswering(_ path: String) -> String {
        "\(path), which doesn't answer: another process may keep it locked; "
            + "\"xp outbox status --store \(path)\" gives its ledger later"
    }
}
