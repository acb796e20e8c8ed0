import AdapterKit
import Experimentation
import ExperimentationSQLite
import FlagshipAdapter
import Foundation

extension Flagship {
    /// Starts Flagship with hits, flags, ids and files in a file of the application's own, as the vendor's SDK keeps them.
    ///
    /// It doesn't wait for the vendor, and never fails: ``status`` tells the outcome. If the file can't be opened, that is
    /// logged as an error, and everything is lost with the process.
    ///
    /// - Parameters:
    ///   - environmentID: The environment, 20 characters from `0` to `9` and `a` to `v`.
    ///   - apiKey: The key of the Decision API.
    ///   - options: How it behaves.
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    ///   - transport: What exchanges requests; the platform's own if `nil`.
    ///   - environment: Time, chance, ids and a place for messages.
    /// - Returns: Flagship, started or not.
    public static func start(
        environmentID: String,
        apiKey: Secret,
        options: FlagshipOptions = FlagshipOptions(),
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) async -> Flagship {
        var store = ClientStore.inMemory()
        do throws(ExperimentationError) {
            store = try durableStore(in: folder, log: environment.log)
        } catch {
            environment.log.log(.error, "flagship.CACHE", "Flagship - CACHE - nothing outlives the process: \(error)")
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

    /// The file that ``start(environmentID:apiKey:options:in:transport:environment:)`` opens, for ``importHits(_:environmentID:apiKey:options:into:now:)``
    /// before it.
    ///
    /// - Parameters:
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    ///   - log: Where the store says that its file was damaged.
    /// - Returns: The stores in that file.
    /// - Throws: `ErrorCode.store` when it can't be opened.
    public static func durableStore(
        in folder: URL? = nil,
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> ClientStore {
        try .applicationSupport(named: "flagship", in: folder, log: log)
    }
}
