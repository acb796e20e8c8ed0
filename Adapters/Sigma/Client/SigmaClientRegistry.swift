import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Clients by tag; ``Sigma`` has one for the whole process, tests and servers create their own.
public final class SigmaClientRegistry: Sendable {
    // A server's tags may be the ids of its users.
    private struct State {
        var clients: [ExactText: SigmaClient] = [:]
        /// The profiles of removed clients, as long as they store something or are used.
        var former: [ExactText: Former] = [:]
    }

    private struct Former {
        weak var profile: SigmaProfile?
    }

    private let state = Mutex(State())

    /// Creates an empty registry.
    public init() {}

    /// Creates a client; see
    /// ``Sigma/initializeClient(projectToken:initialUser:apiURL:cacheTTL:retryCount:fetchTimeout:tag:options:)``.
    ///
    /// - Parameters:
    ///   - projectToken: The project's token.
    ///   - initialUser: The user.
    ///   - apiURL: The base address.
    ///   - cacheTTL: How many seconds a configuration is valid; below 10 means 10.
    ///   - retryCount: How many retries follow a failed request, at most 100.
    ///   - fetchTimeout: The time limit of one attempt in seconds; below 0.5 means 60.
    ///   - tag: Identifies this client.
    ///   - options: Options that the vendor's SDK doesn't have.
    /// - Returns: The client, which ``getClient(tag:)`` returns from now on.
    /// - Throws: ``SigmaError/initializationOfExistingClient(tag:)``.
    public func initializeClient(
        projectToken: String,
        initialUser: SigmaUser? = nil,
        apiURL: String = SigmaConfiguration.vendorEndpoint.description,
        cacheTTL: UInt = 10,
        retryCount: UInt = 3,
        fetchTimeout: TimeInterval = 60,
        tag: String = SigmaSDKRecords.defaultTag,
        options: SigmaClientOptions
    ) throws(SigmaError) -> SigmaClient {
        let endpoint = try? Endpoint(apiURL)
        var configuration = SigmaConfiguration(
            projectToken: Secret(projectToken),
            endpoint: endpoint ?? SigmaConfiguration.vendorEndpoint,
            cacheLifetime: .seconds(Int64(clamping: cacheTTL)),
            retryCount: Int(clamping: retryCount),
            fetchTimeout: Self.duration(fetchTimeout),
            device: options.device
        )
        configuration.bucketing = options.bucketing
        configuration.assumptions = options.assumptions
        let made = state.withLock { state -> SigmaClient? in
            guard state.clients[ExactText(tag)] == nil else { return nil }
            let client = SigmaClient(
                configuration,
                refusedURL: endpoint == nil ? apiURL : nil,
                initialUser: initialUser,
                tag: tag,
                after: state.former.removeValue(forKey: ExactText(tag))?.profile,
                options: options
            )
            state.clients[ExactText(tag)] = client
            return client
        }
        guard let made else { throw .initializationOfExistingClient(tag: tag) }
        return made
    }

    /// Returns the client with a tag, or `nil`.
    public func getClient(tag: String = SigmaSDKRecords.defaultTag) -> SigmaClient? {
        state.withLock { $0.clients[ExactText(tag)] }
    }

    /// Releases the client with a tag, if there is one; its stored state stays, and the tag's next client waits for what it
    /// is still storing.
    public func removeClient(tag: String = SigmaSDKRecords.defaultTag) {
        state.withLock { state in
            guard let client = state.clients.removeValue(forKey: ExactText(tag)) else { return }
            state.former = state.former.filter { $1.profile != nil }
            state.former[ExactText(tag)] = Former(profile: client.profile)
        }
    }

    /// Anything but a number of at least half a second means the default; `Duration` traps on what it can't hold.
    private static func duration(_ seconds: TimeInterval) -> Duration {
        guard seconds.isFinite, seconds >= 0.5 else { return .seconds(60) }
        return .seconds(min(seconds, 86_400))
    }
}
