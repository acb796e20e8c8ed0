import Experimentation
import Foundation

extension ClientStore {
    /// Opens a durable store in one SQLite file, or creates it.
    ///
    /// - Parameters:
    ///   - url: The file, for one application. Its folder is created if necessary.
    ///   - provider: The owner of the events; a file that was opened for another vendor or account is then refused. If
    ///     `nil`, the file may hold events for several accounts, each of which gets only its own.
    ///   - options: The store's settings.
    ///   - log: Where to log that a damaged file was set aside.
    /// - Returns: The stores, both in this file.
    /// - Throws: ``ErrorCode/store`` and ``ErrorCode/configuration``, as `SQLiteStore` does.
    public static func sqlite(
        at url: URL,
        for provider: (any ExperimentationProvider)? = nil,
        options: SQLiteStore.Options = SQLiteStore.Options(),
        log: any LogSink = NoLog()
    ) async throws(ExperimentationError) -> ClientStore {
        let store = try await SQLiteStore.opened(at: url, for: provider, options: options, log: log)
        return ClientStore(outbox: store, state: store)
    }

    /// Opens a durable store in a folder that serves several applications, vendors or accounts.
    ///
    /// - Parameters:
    ///   - folder: The folder; it is created if necessary.
    ///   - provider: The owner of the events.
    ///   - application: Distinguishes applications that share the folder.
    ///   - options: The store's settings.
    ///   - log: Where to log that a damaged file was set aside.
    /// - Returns: The stores, in a file named by a digest of application, vendor and account.
    /// - Throws: ``ErrorCode/store`` and ``ErrorCode/configuration``, as `SQLiteStore` does.
    public static func sqlite(
        in folder: URL,
        for provider: any ExperimentationProvider,
        application: String = "",
        options: SQLiteStore.Options = SQLiteStore.Options(),
        log: any LogSink = NoLog()
    ) async throws(ExperimentationError) -> ClientStore {
        try await sqlite(
            at: folder.appendingPathComponent(Digest.hex(application, provider.name, provider.scope) + ".sqlite"),
            for: provider,
            options: options,
            log: log
        )
    }
}

extension SQLiteStore {
    /// Opens a store or creates it, as ``init(at:for:options:log:)`` does.
    package static func opened(
        at url: URL,
        for provider: (any ExperimentationProvider)? = nil,
        options: Options = Options(),
        log: any LogSink = NoLog()
    ) async throws(ExperimentationError) -> SQLiteStore {
        // Checking a large file takes a while, so not on a thread that others wait for.
        let result = await withCheckedContinuation { continuation in
            DispatchQueue(label: "ExperimentationSQLite.open").async {
                continuation.resume(
                    returning: Result { () throws(ExperimentationError) in
                        try SQLiteStore(at: url, for: provider, options: options, log: log)
                    }
                )
            }
        }
        return try result.get()
    }
}
