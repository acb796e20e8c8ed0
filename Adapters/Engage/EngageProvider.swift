import AdapterKit
import Experimentation

/// Silverpop Engage: universal behaviors as events, recipients as users, and its XML interface as typed extras.
///
/// ```swift
/// let client = try await ExperimentationClient(provider: EngageProvider(configuration: configuration), store: store)
/// let engage = try Engage(of: client)
/// let setup = try await engage.mobileIdentity.setupRecipient()
/// let session = client.session(for: User(id: setup.mobileUserID))
/// try await session.track(.goalCompleted("LISTENED TO MVSTERMIND"))
/// ```
///
/// Engage has no flags and no experiments. `User.id` is its mobile user id.
public struct EngageProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "engage"
    /// The configuration.
    public let configuration: EngageConfiguration
    private let transport: (any HTTPTransport)?

    /// Creates a provider; nothing is sent before a client starts it.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - transport: Sends requests; the platform's own if `nil`.
    public init(configuration: EngageConfiguration, transport: (any HTTPTransport)? = nil) {
        self.configuration = configuration
        self.transport = transport
    }

    /// The address, the application and the list.
    public var scope: String {
        "\(configuration.endpoint)|\(configuration.credentials.clientID)|\(configuration.listID)"
    }

    /// Events and identities; no decisions.
    public let capabilities: Set<Capability> = [.tracking, .batching, .identityLinking]

    /// Checks the settings, reads an earlier run's state, and resumes an interrupted merge in the background.
    ///
    /// The first access token is requested when it is first needed; ``Engage/reach()`` requests it at once.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting; ``ErrorCode/store`` if the state can't be read.
    public func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        try configuration.validate()
        var configuration = configuration
        configuration.device = await configuration.device.identified()
        let engage = Engage(configuration, transport: transport ?? DefaultTransport.make(), in: context)
        try await engage.begin()
        return engage.roles
    }
}
