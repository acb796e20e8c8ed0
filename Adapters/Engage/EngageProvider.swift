import AdapterKit
import Experimentation
import Synchronization

/// Silverpop Engage: universal behaviours as events, recipients as users, and its XML interface as typed extras.
///
/// ```swift
/// let engage = EngageProvider(configuration: configuration, state: store.state)
/// let client = try await ExperimentationClient(provider: engage, store: store)
/// let setup = try await engage.mobileIdentity.setupRecipient()
/// let session = client.session(for: User(id: setup.mobileUserID))
/// try await session.track(.goalCompleted("LISTENED TO MVSTERMIND"))
/// ```
///
/// Engage has no flags and no experiments. `User.id` is its mobile user id.
public struct EngageProvider: ExperimentationProvider {
    /// The vendor's name.
    public let name = "engage"
    /// Tells this account and list from others.
    public let scope: String
    /// Events and identities; no decisions.
    public let roles: ProviderRoles
    /// What is supported.
    public let capabilities: Set<Capability> = [.tracking, .batching, .identityLinking]
    /// The configuration.
    public let configuration: EngageConfiguration
    /// What is kept of this installation.
    public let profile: EngageProfile
    /// The XML interface.
    public let xmlapi: XMLAPIClient
    /// Making and merging recipients.
    public let mobileIdentity: MobileIdentity

    let environment: Environment
    let completed: CompletedEvents
    let journal: EngageJournal
    let configurationError: ExperimentationError?
    private let resuming = ResumingTask()

    /// Creates a provider.
    ///
    /// Nothing is sent before it is used.
    ///
    /// - Parameters:
    ///   - configuration: The settings; ``start()`` checks them.
    ///   - transport: How requests are sent; the platform's way if `nil`.
    ///   - environment: Time, ids, chance and a place for messages.
    ///   - state: Where ids, campaigns and merges under way are kept; this process's memory if `nil`. Give the one of
    ///     the client's store.
    public init(
        configuration: EngageConfiguration,
        transport: (any HTTPTransport)? = nil,
        environment: Environment = Environment(),
        state: (any StateStore)? = nil
    ) {
        self.configuration = configuration
        self.environment = environment
        scope = "\(configuration.host)|\(configuration.credentials.clientID)|\(configuration.listID)"
        profile = EngageProfile(store: state, key: "engage/profile/" + EngageDigest.of(scope))
        var endpoint: Endpoint?
        var problem: ExperimentationError?
        do throws(ExperimentationError) {
            try configuration.validate()
            endpoint = try Endpoint(configuration.host)
        } catch {
            problem = error
        }
        configurationError = problem
        let transport = transport ?? DefaultTransport.make()
        let requests = EngageRequests(endpoint: endpoint)
        let authorization = EngageAuthorization(
            configuration: configuration,
            requests: requests,
            transport: transport,
            environment: environment,
            profile: profile
        )
        let connection = EngageConnection(
            configuration: configuration,
            requests: requests,
            transport: transport,
            environment: environment,
            authorization: authorization,
            line: EngageCallLine(limit: configuration.networking.concurrency)
        )
        xmlapi = XMLAPIClient(connection: connection)
        let execution = MergeExecution(client: xmlapi, profile: profile, environment: environment)
        let mergeLine = EngageCallLine(limit: 1)
        mobileIdentity = MobileIdentity(execution: execution, line: mergeLine)
        completed = CompletedEvents()
        journal = EngageJournal(store: state, prefix: "engage/events/\(EngageDigest.of(scope))/")
        roles = ProviderRoles(
            events: EngageEventSink(
                connection: connection,
                profile: profile,
                translation: EngageTranslation(configuration),
                augmentation: AugmentationRun(
                    plugins: configuration.augmentation.plugins,
                    timeout: configuration.augmentation.timeout,
                    time: environment.time
                ),
                completed: completed,
                journal: journal
            ),
            identity: EngageLinker(execution: execution, line: mergeLine)
        )
    }

    /// Checks the settings, reads what an earlier run kept, and takes up a merge that was interrupted, in the background.
    public func start() async throws(ExperimentationError) {
        if let configurationError { throw configurationError }
        try await profile.load()
        guard profile.record.merge != nil else { return }
        let identity = mobileIdentity
        let log = environment.log
        resuming.begin {
            do throws(ExperimentationError) {
                try await identity.resumePendingMerge()
            } catch {
                log.log(.warning, "engage.merge.pending", "an interrupted merge still waits: \(error.message)")
            }
        }
    }

    /// Ends what ``start()`` began.
    public func stop(by deadline: ContinuousClock.Instant) async { resuming.end() }

    /// The merge that is taken up in the background.
    private final class ResumingTask: Sendable {
        private let task = Mutex<Task<Void, Never>?>(nil)

        func begin(_ work: @escaping @Sendable () async -> Void) {
            task.withLock { $0 = Task { await work() } }
        }

        func end() { task.withLock { $0?.cancel() } }
    }
}
