import AdapterKit
import EngageAdapter
import Experimentation
import ExperimentationSQLite
import Foundation

extension Engage {
    /// Creates a client that keeps events, ids, campaigns and a merge in progress in a file of the application's own, as
    /// the vendor's SDK does.
    ///
    /// Requests nothing. If the file can't be opened, it logs an error and keeps everything in memory.
    ///
    /// ```swift
    /// let client = try await Engage.client(configuration)
    /// let engage = try Engage(of: client)
    /// ```
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - options: The client's options.
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    ///   - environment: Clock, randomness, ids and log.
    /// - Returns: The client, which belongs to the caller.
    /// - Throws: `ErrorCode.configuration` if a setting is invalid, and `ErrorCode.store` if the state of an earlier run
    ///   can't be read.
    public static func client(
        _ configuration: EngageConfiguration,
        options: ClientOptions = ClientOptions(),
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) async throws(ExperimentationError) -> ExperimentationClient {
        let store = ClientStore.openOrInMemory(log: environment.log, event: "engage.store") {
            () throws(ExperimentationError) in
            try durableStore(in: folder, log: environment.log)
        }
        return try await ExperimentationClient(
            provider: EngageProvider(configuration: configuration, transport: transport),
            store: store,
            options: options,
            environment: environment
        )
    }

    /// Opens the file that ``client(_:options:in:transport:environment:)`` uses.
    ///
    /// - Parameters:
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - log: Where the store reports a damaged file.
    /// - Returns: The stores in that file.
    /// - Throws: `ErrorCode.store` when it can't be opened.
    public static func durableStore(
        in folder: URL? = nil,
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> ClientStore {
        try .applicationSupport(named: "engage", in: folder, log: log)
    }
}
