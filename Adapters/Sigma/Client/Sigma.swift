import AdapterKit
import Experimentation
import Foundation

/// The clients of this process by tag, as in the vendor's SDK.
///
/// ```swift
/// let options = SigmaClientOptions(store: store)
/// let client = try Sigma.initializeClient(projectToken: token, initialUser: user, options: options)
/// let isOn: Bool? = try await client.checkFlag(flagName: "chat")
/// ```
///
/// The product `SigmaSQLite` has an overload without options, which keeps everything in the application's own file.
///
/// For new code, prefer the neutral client with a ``SigmaProvider``, or a ``SigmaClientRegistry`` of your own.
public enum Sigma {
    /// The tag of a client created without one.
    public static let defaultClientTag = SigmaSDKRecords.defaultTag

    private static let registry = SigmaClientRegistry()

    /// Creates a client, which requests nothing until a call needs the configuration.
    ///
    /// - Parameters:
    ///   - projectToken: The project's token.
    ///   - initialUser: The user; `nil` for an earlier run's user, or a new one with a random id.
    ///   - apiURL: The base address.
    ///   - cacheTTL: How many seconds a configuration is valid; below 10 means 10.
    ///   - retryCount: How many retries follow a failed request, at most 100: three as on the vendor's
    ///     page; SDK 1.8.1 has none.
    ///   - fetchTimeout: The time limit of one attempt in seconds; below 0.5 means 60.
    ///   - tag: Identifies this client.
    ///   - options: Options that the vendor's SDK doesn't have.
    /// - Returns: The client, which ``getClient(tag:)`` returns from now on.
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

    /// Returns the client with a tag, or `nil`.
    public static func getClient(tag: String = defaultClientTag) -> SigmaClient? { registry.getClient(tag: tag) }

    /// Releases the client with a tag, if there is one.
    ///
    /// Calls in progress end normally, and the client's stored state stays for the next one with this tag and token.
    ///
    /// - Parameter tag: The client's tag.
    public static func removeClient(tag: String = defaultClientTag) { registry.removeClient(tag: tag) }
}
