import AdapterKit
import Experimentation
import ExperimentationSQLite
import Foundation
import SigmaAdapter

extension Sigma {
    /// Creates a client that keeps the configuration, the user, the generated id and the forced list in a file of the
    /// application's own, as the vendor's SDK does.
    ///
    /// It sends no request before a call needs the configuration. If the file can't be opened, it logs an error and
    /// keeps everything in memory.
    ///
    /// - Parameters:
    ///   - projectToken: The project's token.
    ///   - initialUser: The user's known ids and properties; if `nil`, the user of an earlier run or a new one with a
    ///     random id.
    ///   - apiURL: The base address.
    ///   - cacheTTL: How long a configuration is valid, in seconds; at least 10.
    ///   - retryCount: How often a failed request is retried, at most 100.
    ///   - fetchTimeout: The time limit of one attempt, in seconds; below 0.5 means 60.
    ///   - tag: Distinguishes this client from others.
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    ///   - environment: Clock, randomness and log.
    /// - Returns: The client, which ``getClient(tag:)`` returns from now on.
    /// - Throws: `SigmaError.initializationOfExistingClient`.
    public static func initializeClient(
        projectToken: String,
        initialUser: SigmaUser? = nil,
        apiURL: String = SigmaConfiguration.vendorEndpoint.description,
        cacheTTL: UInt = 10,
        retryCount: UInt = 3,
        fetchTimeout: TimeInterval = 60,
        tag: String = defaultClientTag,
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) throws(SigmaError) -> SigmaClient {
        let store = ClientStore.openOrInMemory(log: environment.log, event: "sigma.store") {
            () throws(ExperimentationError) in
            try SigmaClientOptions.durableStore(in: folder, log: environment.log)
        }
        var options = SigmaClientOptions(store: store.state)
        (options.transport, options.environment) = (transport, environment)
        return try initializeClient(
            projectToken: projectToken,
            initialUser: initialUser,
            apiURL: apiURL,
            cacheTTL: cacheTTL,
            retryCount: retryCount,
            fetchTimeout: fetchTimeout,
            tag: tag,
            options: options
        )
    }
}

extension SigmaClientOptions {
    /// Returns the default options with a file of the application's own, which all clients share, each with its own
    /// part.
    ///
    /// - Parameters:
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - log: Where the store reports a damaged file.
    /// - Returns: The options.
    /// - Throws: `ErrorCode.store` when the file can't be opened.
    public static func durable(
        in folder: URL? = nil,
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> SigmaClientOptions {
        SigmaClientOptions(store: try durableStore(in: folder, log: log).state)
    }

    fileprivate static func durableStore(
        in folder: URL?,
        log: any LogSink
    ) throws(ExperimentationError) -> ClientStore {
        try .applicationSupport(named: "sigma", in: folder, log: log)
    }
}
