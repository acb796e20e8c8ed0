import AdapterKit
import Experimentation

/// Options of a ``SigmaClient`` that the vendor's SDK doesn't have.
public struct SigmaClientOptions: Sendable {
    /// What calls do when the configuration is unavailable.
    public enum Failures: Sendable, Hashable {
        /// They throw, as SDK 1.8.1 does since it has error callbacks.
        case thrown
        /// `checkFlag`, `getAllUserExperiments` and `getExperiment` return `nil`, as the vendor's page says; other
        /// calls throw. The log has one warning with the reason, until the configuration is available again.
        case `nil`
    }

    /// Where the configuration, the user, the generated id and the forced list are stored.
    ///
    /// With a store in memory, a user without an id gets a new id at each start, and so another group.
    public var store: any StateStore
    /// The records of the vendor's own SDK on this device; used until this client has its own.
    public var importing: SigmaSDKRecords?
    /// Sends requests; the platform's own if `nil`.
    public var transport: (any HTTPTransport)?
    /// Clock, randomness and log.
    public var environment = ClientEnvironment()
    /// The device's properties.
    public var device = SigmaDevice.current
    /// What calls do when the configuration is unavailable.
    public var failures = Failures.nil
    /// Whether a call fails if the configuration needs the location and the location is unavailable; if not, the call
    /// continues without it.
    public var failsWithoutPlace = true
    /// The formula for a user's position in a draw.
    public var bucketing = SigmaBucketing.inferred
    /// The assumptions about undocumented behavior of the vendor.
    public var assumptions = SigmaAssumptions()

    /// Creates options with default values.
    ///
    /// - Parameter store: Where the client's state is stored.
    public init(store: any StateStore) { self.store = store }
}
