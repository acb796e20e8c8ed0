import Experimentation
import Foundation

extension ClientStore {
    /// Opens a durable store where the platform keeps an application's own files, or creates it.
    ///
    /// On Apple platforms this is the application support folder, and on Linux the data folder of the XDG base
    /// directories: `XDG_DATA_HOME`, or `~/.local/share` if that isn't set. There the store is in a folder named after
    /// the bundle's identifier, or the process if there is none; pass a folder if several tools share a store.
    ///
    /// Checks the file on the calling thread, which takes about a millisecond per megabyte.
    ///
    /// - Parameters:
    ///   - name: The file's name without extension: ASCII letters, digits, `-`, `_` and `.`; it doesn't begin with `.`.
    ///   - folder: A folder to use instead, such as an application group's container.
    ///   - options: The store's settings.
    ///   - log: Where to log that a damaged file was set aside.
    /// - Returns: The stores, both in this file.
    /// - Throws: ``ErrorCode/configuration`` for an invalid name; ``ErrorCode/store`` if the folder or the file can't
    ///   be opened.
    public static func applicationSupport(
        named name: String,
        in folder: URL? = nil,
        options: SQLiteStore.Options = SQLiteStore.Options(),
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> ClientStore {
        guard isFileName(name) else {
            throw ExperimentationError(.configuration, "\"\(name)\" is no name for a store's file.")
        }
        let folder = if let folder { folder } else { try applicationFolder() }
        let store = try SQLiteStore(at: folder.appending(path: name + ".sqlite"), options: options, log: log)
        return ClientStore(outbox: store, state: store)
    }

    /// Opens a store, or logs why it can't be opened and keeps everything in memory instead.
    ///
    /// For an application that starts in any case, as vendors' SDKs do. What is kept in memory is lost when the process
    /// ends.
    ///
    /// - Parameters:
    ///   - log: Where a failure is logged, as an error.
    ///   - event: The name of that entry.
    ///   - open: Opens the store.
    /// - Returns: The opened store, or one in memory.
    public static func openOrInMemory(
        log: any LogSink,
        event: String,
        _ open: () throws(ExperimentationError) -> ClientStore
    ) -> ClientStore {
        do throws(ExperimentationError) {
            return try open()
        } catch {
            log.log(.error, event, "Nothing outlives the process: \(error.message)")
            return .inMemory()
        }
    }

    private static func isFileName(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix(".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    private static func applicationFolder() throws(ExperimentationError) -> URL {
        let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        #if os(Linux)
            return dataFolder(
                environment: ProcessInfo.processInfo.environment,
                home: FileManager.default.homeDirectoryForCurrentUser
            )
            .appending(path: name)
        #else
            do {
                return try FileManager.default.url(
                    for: .applicationSupportDirectory,
                    in: .userDomainMask,
                    appropriateFor: nil,
                    create: true
                )
                .appending(path: name)
            } catch {
                throw ExperimentationError(.store, "There is no application-support folder: \(error)")
            }
        #endif
    }

    /// Returns the data folder by the XDG Base Directory Specification, which ignores relative paths.
    static func dataFolder(environment: [String: String], home: URL) -> URL {
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") { return URL(filePath: path) }
        return home.appending(path: ".local/share")
    }
}
