import AdapterKit
import Experimentation
import Foundation

/// The clients of this process by tag, as the vendor's SDK has them.
///
/// ```swift
/// let options = SigmaClientOptions(store: store)
/// let client = try Sigma.initializeClient(projectToken: token, initialUser: user, options: options)
/// let isOn: Bool? = try await client.checkFlag(flagName: "chat")
/// ```
///
/// The product `SigmaSQLite` has the call without options, which keeps everything in a file of the application's own.
///
/// New code does better with the neutral client and a ``SigmaProvider``, or with a ``SigmaClientRegistry`` of its own.
public enum Sigma {
    /// The tag of a client without a tag of its own.
    public static let defaultClientTag = "default"

    private static let registry = SigmaClientRegistry()

    /// Makes a client, which requests nothing before a call needs the configuration.
    ///
    /// - Parameters:
    ///   - projectToken: The token of the project.
    ///   - initialUser: What is known of the user; with `nil` the one of an earlier run, or a new one with a random id.
    ///   - apiURL: The base address.
    ///   - cacheTTL: For how many seconds a configuration is good; below 10 means 10.
    ///   - retryCount: How many further attempts follow a failed request, at most 100: three as on the vendor's
    ///     page; SDK 1.8.1 has none.
    ///   - fetchTimeout: For how many seconds one attempt may last; below 0.5 means 60.
    ///   - tag: Tells this client from others.
    ///   - options: What the vendor's SDK doesn't ask for.
    /// - Returns: The client, which ``getClient(tag:)`` gives from now on.
    /// - Throws: ``SigmaError/initializationOfExistingClient(tag:)``.
    public static func initializeClient(
        projectToken: String,
        initialUser: SigmaUser? = nil,
        apiURL: String = SigmaConfiguration.vendorEndpoint.description,
        cacheTTL: UInt = 10,
        retryCount: UInt = 3,
        fetchTimeout: TimeInterval = 60,
        tag: String = defaultClientTag,
        options: SigmaClientOptions
    ) throws(SigmaError) -> SigmaClient {
        try registry.initializeClient(
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

    /// The client with a tag, or `nil`.
    public static func getClient(tag: String = defaultClientTag) -> SigmaClient? { registry.getClient(tag: tag) }

    /// Lets go of the client with a tag, if there is one.
    ///
    /// Calls under way end as if nothing had happened, and what the client keeps stays for the next one with this tag
    /// and token.
    ///
    /// - Parameter tag: The client's tag.
    public static func removeClient(tag: String = defaultClientTag) { registry.removeClient(tag: tag) }
}

/// What a ``SigmaClient`` is told beside what the vendor's SDK asks for.
public struct SigmaClientOptions: Sendable {
    /// What calls give when the configuration can't be had.
    public enum Failures: Sendable, Hashable {
        /// They throw, as SDK 1.8.1 does since it has error callbacks.
        case thrown
        /// `checkFlag`, `getAllUserExperiments` and `getExperiment` give `nil`, as the vendor's page says; other calls throw.
        case `nil`
    }

    /// Where the configuration, the user, the generated id and the forced list survive.
    ///
    /// In memory a user without an id gets a new one at each start, and with it another group.
    public var store: any StateStore
    /// What the vendor's own SDK left on this device; it counts until this client has records of its own.
    public var importing: SigmaSDKRecords?
    /// What carries requests; the platform's own if `nil`.
    public var transport: (any HTTPTransport)?
    /// Time, chance and a place for messages.
    public var environment = ClientEnvironment()
    /// What is known of the device.
    public var device = SigmaDevice.current
    /// What calls give when the configuration can't be had.
    public var failures = Failures.nil
    /// Whether a call fails when the configuration wants the place and the place can't be had; if not, it goes on without.
    public var failsWithoutPlace = true
    /// A user's position in a draw.
    public var bucketing = SigmaBucketing.inferred
    /// The answers to what the vendor hasn't documented.
    public var assumptions = SigmaAssumptions()

    /// Creates the defaults.
    ///
    /// - Parameter store: Where things survive.
    public init(store: any StateStore) { self.store = store }
}
