import AdapterKit
import EvergageAdapter
import Experimentation
import ExperimentationSQLite
import Foundation

extension Evergage {
    /// Creates what isn't started yet, over a file of the application's own, as the vendor's SDK keeps events and the anonymous id.
    ///
    /// It never fails: if the file can't be opened, that is logged as an error, and everything is lost with the process. A
    /// thousand events wait at most; of more, the oldest is dropped that isn't a purchase.
    ///
    /// - Parameters:
    ///   - anonymousID: The device's id; the platform's id for vendors where there is one, else made once and kept, if `nil`.
    ///   - applicationVersion: Tells an upgrade from a mere launch.
    ///   - sendsLifecycleEvents: Whether install, upgrade, launch and the way to the background and back are tracked.
    ///   - preStartPolicy: What becomes of calls before ``start(_:)``.
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    ///   - transport: What exchanges requests for answers; the platform's engine if `nil`.
    ///   - environment: Time, ids and a place for messages.
    public convenience init(
        anonymousID: String? = nil,
        applicationVersion: String? = nil,
        sendsLifecycleEvents: Bool = true,
        preStartPolicy: PreStartPolicy = .queue,
        in folder: URL? = nil,
        transport: (any HTTPTransport)? = nil,
        environment: ClientEnvironment = ClientEnvironment()
    ) {
        var store = ClientStore.inMemory()
        do throws(ExperimentationError) {
            store = try Self.durableStore(in: folder, log: environment.log)
        } catch {
            environment.log.log(.error, "evergage.store", "nothing outlives the process: \(error.message)")
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

    /// The file that the initialiser without a store opens.
    ///
    /// - Parameters:
    ///   - folder: Where the file lies; the platform's application-support folder if `nil`.
    ///   - log: Where the store says that its file was damaged.
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
