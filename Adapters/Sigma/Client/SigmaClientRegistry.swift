import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Clients by tag; ``Sigma`` has one registry for the whole process, and tests and servers create their own.
public final class SigmaClientRegistry: Sendable {
    /// What this process holds for a tag.
    private struct Place {
        /// The client, until it is removed.
        var client: SigmaClient?
        /// The client's profile, which outlives a removed client for as long as it stores something or is used.
        weak var profile: SigmaProfile?
    }

    // On a server, the tags may be the ids of its users.
    private let places = Mutex<[ExactText: Place]>([:])

    /// Creates an empty registry.
    public init() {}

    /// Creates a client in this registry, with the same parameters as
    /// ``Sigma/initializeClient(projectToken:initialUser:apiURL:cacheTTL:retryCount:fetchTimeout:tag:options:)``.
    ///
    /// - Throws: ``SigmaError/initializationOfExistingClient(tag:)``.
    /// - Returns: The client, which ``getClient(tag:)`` returns from now on.
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
            // A value that isn't a number means the default, as does one that is too small.
            fetchTimeout: fetchTimeout.isFinite
                ? Duration(clampingSeconds: fetchTimeout, to: .zero...SigmaConfiguration.longestTimeout) : .zero,
            device: options.device
        )
        configuration.bucketing = options.bucketing
        configuration.assumptions = options.assumptions
        return try places.withLock { (places) throws(SigmaError) in
            let former = places[ExactText(tag)]
            guard former?.client == nil else { throw .initializationOfExistingClient(tag: tag) }
            let client = SigmaClient(
                configuration,
                refusedURL: endpoint == nil ? apiURL : nil,
                initialUser: initialUser,
                tag: tag,
                after: former?.profile,
                options: options
            )
            places[ExactText(tag)] = Place(client: client, profile: client.profile)
            return client
        }
    }

    /// Returns the client with a tag, or `nil`.
    public func getClient(tag: String = SigmaSDKRecords.defaultTag) -> SigmaClient? {
        places.withLock { $0[ExactText(tag)]?.client }
    }

    /// Releases the client with a tag, if there is one.
    ///
    /// Its stored state stays, and the tag's next client waits for what the removed one is still storing.
    public func removeClient(tag: String = SigmaSDKRecords.defaultTag) {
        places.withLock { places in
            places[ExactText(tag)]?.client = nil
            places = places.filter { $1.client != nil || $1.profile != nil }
        }
    }
}
