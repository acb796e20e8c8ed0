import AdapterKit
import Experimentation
import ExperimentationSQLite
import Foundation
import SigmaAdapter

extension Sigma {
    /// Makes a client that keeps the configuration, the user, the generated id and the forced list in a file of the application's
    /// own, as the vendor's SDK does; it requests nothing before a call needs the configuration.
    ///
    /// - Parameters:
    ///   - projectToken: The token of the project.
    ///   - initialUser: What is known of the user; with `nil` the one of an earlier run, or a new one with a random id.
    ///   - apiURL: The base address.
    ///   - cacheTTL: For how many seconds a configuration is good; below 10 means 10.
    ///   - retryCount: How many further attempts follow a failed request, at most 100.
    ///   - fetchTimeout: For how many seconds one attempt may last; below 0.5 means 60.
    ///   - tag: Tells this client from others.
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    /// - Returns: The client, which ``getClient(tag:)`` gives from now on.
    /// - Throws: `SigmaError.initializationOfExistingClient`, or `ExperimentationError` when the file can't be opened.
    public static func initializeClient(
        projectToken: String,
        initialUser: SigmaUser? = nil,
        apiURL: String = SigmaConfiguration.vendorEndpoint.description,
        cacheTTL: UInt = 10,
        retryCount: UInt = 3,
        fetchTimeout: TimeInterval = 60,
        tag: String = defaultClientTag,
        in folder: URL? = nil
    ) throws -> SigmaClient {
        try initializeClient(
            projectToken: projectToken,
            initialUser: initialUser,
            apiURL: apiURL,
            cacheTTL: cacheTTL,
            retryCount: retryCount,
            fetchTimeout: fetchTimeout,
            tag: tag,
            options: .durable(in: folder)
        )
    }
}

extension SigmaClientOptions {
    /// The defaults over a file of the application's own; all clients share it, each with its own part.
    ///
    /// - Parameters:
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    ///   - log: Where the store says that its file was damaged.
    /// - Returns: The options.
    /// - Throws: `ErrorCode.store` when the file can't be opened.
    public static func durable(
        in folder: URL? = nil,
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> SigmaClientOptions {
        SigmaClientOptions(store: try ClientStore.applicationSupport(named: "sigma", in: folder, log: log).state)
    }
}
