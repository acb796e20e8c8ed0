import AdapterKit
import Experimentation
import ExperimentationSQLite
import FlagshipAdapter
import Foundation

extension Flagship {
    /// Starts Flagship with hits, flags, ids and files in a file of the application's own, as the vendor's SDK keeps
    /// them.
    ///
    /// Doesn't wait for the vendor and never fails: ``status`` tells the outcome. If the file can't be opened, it logs
    /// an error and keeps everything in memory.
    ///
    /// - Parameters:
    ///   - environmentID: The environment, 20 characters from `0` to `9` and `a` to `v`.
    ///   - apiKey: The key of the Decision API.
    ///   - options: The options of the SDK.
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    ///   - environment: Clock, randomness, ids and log.
    /// - Returns: Flagship, started or not.
    public static func start(
        environmentID: String,
        apiKey: Secret,
        options: FlagshipOptions = FlagshipOptions(),
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) async -> Flagship {
        let store = ClientStore.openOrInMemory(log: environment.log, event: "flagship.CACHE") {
            () throws(ExperimentationError) in
            try durableStore(in: folder, log: environment.log)
        }
        return await start(
            environmentID: environmentID,
            apiKey: apiKey,
            options: options,
            store: store,
            transport: transport,
            environment: environment
        )
    }

    /// Opens the file that ``start(environmentID:apiKey:options:in:transport:environment:)`` uses, so that
    /// ``importHits(_:environmentID:apiKey:options:into:now:)`` can run before it.
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
        try .applicationSupport(named: "flagship", in: folder, log: log)
    }
}
