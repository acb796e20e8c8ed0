import AdapterKit
import EvergageAdapter
import Experimentation
import ExperimentationSQLite
import Foundation

extension Evergage {
    /// Creates an instance that keeps events and the anonymous id in a file of the application's own, as the vendor's
    /// SDK does.
    ///
    /// It never fails: if the file can't be opened, it logs an error and keeps everything in memory. At most 1,000
    /// events wait; beyond that, the oldest one that isn't a purchase is dropped. For events tracked through
    /// ``session`` instead, their own priority counts.
    ///
    /// - Parameters:
    ///   - anonymousID: The device's id. If `nil`, the platform's id for vendors where there is one, otherwise a
    ///     generated and stored one.
    ///   - applicationVersion: The version by which an upgrade is detected; the main bundle's if `nil`.
    ///   - sendsLifecycleEvents: Whether install, upgrade, launch, and changes between background and foreground are
    ///     tracked.
    ///   - preStartPolicy: What happens to calls before ``start(_:)``.
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - transport: How requests are sent; the platform's engine if `nil`.
    ///   - environment: Clock, ids and log.
    public convenience init(
        anonymousID: String? = nil,
        applicationVersion: String? = nil,
        sendsLifecycleEvents: Bool = true,
        preStartPolicy: PreStartPolicy = .queue,
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) {
        let store = ClientStore.openOrInMemory(log: environment.log, event: "evergage.store") {
            () throws(ExperimentationError) in
            try Self.durableStore(in: folder, log: environment.log)
        }
        self.init(
            store: store,
            anonymousID: anonymousID,
            applicationVersion: applicationVersion,
            sendsLifecycleEvents: sendsLifecycleEvents,
            preStartPolicy: preStartPolicy,
            transport: transport,
            environment: environment
        )
    }

    /// Opens the file that the initializer without a store uses.
    ///
    /// - Parameters:
    ///   - folder: The folder of the file; the platform's application-support folder if `nil`.
    ///   - log: Where the store reports a damaged file.
    /// - Returns: The stores in that file.
    /// - Throws: `ErrorCode.store` when it can't be opened.
    public nonisolated static func durableStore(
        in folder: URL? = nil,
        log: any LogSink = NoLog()
    ) throws(ExperimentationError) -> ClientStore {
        let options = SQLiteStore.Options(limits: StoreLimits(maximumCount: 1_000))
        return try .applicationSupport(named: "evergage", in: folder, options: options, log: log)
    }
}
