import Experimentation
import Foundation

extension ClientStore {
    /// Opens a durable store where this platform keeps an application's own files, or creates it.
    ///
    /// That is the application-support folder on Apple platforms, and on Linux the data folder of the XDG base directories:
    /// `XDG_DATA_HOME`, or `~/.local/share` if that isn't set. In it the store lies in a folder that has the bundle's
    /// identifier as its name, or the process's name where there is none: name a folder for several tools that share theirs.
    ///
    /// It checks the file on the calling thread, about a millisecond for each megabyte.
    ///
    /// - Parameters:
    ///   - name: The file's name without its ending: ASCII letters, digits, `-`, `_` and `.`, which it doesn't begin with.
    ///   - folder: Where the file lies instead, such as an application group's container.
    ///   - options: How it behaves.
    ///   - log: Where it says that a damaged file was set aside.
    /// - Returns: The stores, both in this file.
    /// - Throws: ``ErrorCode/configuration`` for another name; ``ErrorCode/store`` when the folder or the file can't be had.
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

    /// The data folder by the XDG Base Directory Specification, which has relative paths ignored.
    static func dataFolder(environment: [String: String], home: URL) -> URL {
        if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") { return URL(filePath: path) }
        return home.appending(path: ".local/share")
    }
}
