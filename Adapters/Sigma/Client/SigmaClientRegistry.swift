import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// Clients by tag; ``Sigma`` has one for the whole process, tests and servers make their own.
public final class SigmaClientRegistry: Sendable {
    private let clients = Mutex<[String: SigmaClient]>([:])

    /// Creates an empty registry.
    public init() {}

    /// Makes a client; see ``Sigma/initializeClient(projectToken:initialUser:apiURL:cacheTTL:retryCount:fetchTimeout:tag:options:)``.
    ///
    /// - Parameters:
    ///   - projectToken: The token of the project.
    ///   - initialUser: What is known of the user.
    ///   - apiURL: The base address.
    ///   - cacheTTL: For how many seconds a configuration is good; below 10 means 10.
    ///   - retryCount: How many further attempts follow a failed request, at most 100.
    ///   - fetchTimeout: For how many seconds one attempt may last; below 0.5 means 60.
    ///   - tag: Tells this client from others.
    ///   - options: What the vendor's SDK doesn't ask for.
    /// - Returns: The client, which ``getClient(tag:)`` gives from now on.
    /// - Throws: ``SigmaError/initializationOfExistingClient(tag:)``.
    public func initializeClient(
        projectToken: String,
        initialUser: SigmaUser? = nil,
        apiURL: String = SigmaConfiguration.vendorEndpoint.description,
        cacheTTL: UInt = 10,
        retryCount: UInt = 3,
        fetchTimeout: TimeInterval = 60,
        tag: String = Sigma.defaultClientTag,
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
        let made = clients.withLock { clients -> SigmaClient? in
            guard clients[tag] == nil else { return nil }
            let client = SigmaClient(
                configuration,
                refusedURL: endpoint == nil ? apiURL : nil,
                initialUser: initialUser,
                tag: tag,
                options: options
            )
            clients[tag] = client
            return client
        }
        guard let made else { throw .initializationOfExistingClient(tag: tag) }
        return made
    }

    /// The client with a tag, or `nil`.
    public func getClient(tag: String = Sigma.defaultClientTag) -> SigmaClient? { clients.withLock { $0[tag] } }

    /// Lets go of the client with a tag, if there is one; what it keeps stays in its store.
    public func removeClient(tag: String = Sigma.defaultClientTag) {
        _ = clients.withLock { $0.removeValue(forKey: tag) }
    }

    /// What isn't a number, or is less than half a second, means the default; `Duration` traps on what it can't hold.
    private static func duration(_ seconds: TimeInterval) -> Duration {
        guard seconds.isFinite, seconds >= 0.5 else { return .seconds(60) }
        return .seconds(min(seconds, 86_400))
    }
}
