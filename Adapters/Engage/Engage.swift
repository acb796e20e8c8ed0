import AdapterKit
import Experimentation
import Synchronization

/// The features of Silverpop Engage beyond the neutral client: its XML interface, its identities, and the state of this
/// installation.
///
/// ```swift
/// let engage = try Engage(of: client)
/// let recipients = try await engage.xmlapi.perform(.selectRecipient(id: "42", list: "23949"))
/// ```
public struct Engage: Sendable {
    /// The configuration.
    public let configuration: EngageConfiguration
    /// The state of this installation.
    public let profile: EngageProfile
    /// The XML interface.
    public let xmlapi: XMLAPIClient
    /// Creating and merging recipients.
    public let mobileIdentity: MobileIdentity

    let environment: ClientEnvironment
    let completed: CompletedEvents
    let journal: EngageJournal
    let events: EngageEventSink
    let linker: EngageLinker
    /// Admits one launch or change of the session's clock at a time, so that each of their events is tracked once.
    let sessions: AsyncSemaphore
    private let resuming: ResumingTask

    /// Provides the vendor's own features of a client.
    ///
    /// - Parameter client: A client of an ``EngageProvider``.
    /// - Throws: `ErrorCode.unsupported` if the client has another vendor.
    public init(of client: ExperimentationClient) throws(ExperimentationError) {
        guard let engage = client.extras(as: Engage.self) else {
            throw ExperimentationError(.unsupported, "\(client.providerName) is not Engage.")
        }
        self = engage
    }

    /// Creates everything that lives as long as a client.
    init(_ configuration: EngageConfiguration, transport: any HTTPTransport, in context: ProviderContext) {
        self.configuration = configuration
        for case let plugin as PlacePlugin in configuration.augmentation.plugins {
            plugin.feed.adopt(configuration.location)
        }
        environment = context.environment
        sessions = AsyncSemaphore(limit: 1)
        resuming = ResumingTask()
        profile = EngageProfile(store: context.state, key: "profile", environment: environment)
        let client = HTTPClient(transport: transport, environment: environment)
        let authorization = EngageAuthorization(
            configuration: configuration,
            client: client,
            environment: environment,
            profile: profile
        )
        let connection = EngageConnection(
            configuration: configuration,
            client: client,
            environment: environment,
            tokens: authorization.tokens,
            line: EngageCallLine(limit: configuration.networking.concurrency)
        )
        xmlapi = XMLAPIClient(connection: connection)
        let execution = MergeExecution(client: xmlapi, profile: profile, environment: environment)
        let turn = AsyncSemaphore(limit: 1)
        mobileIdentity = MobileIdentity(execution: execution, turn: turn)
        linker = EngageLinker(execution: execution, turn: turn, merges: MergeWatches(profile.watches))
        completed = CompletedEvents()
        journal = EngageJournal(store: context.state, prefix: "events/")
        events = EngageEventSink(
            connection: connection,
            profile: profile,
            translation: EngageTranslation(configuration),
            augmentation: AugmentationRun(
                plugins: configuration.augmentation.plugins,
                timeout: configuration.augmentation.timeout,
                time: environment.time
            ),
            completed: completed,
            journal: journal,
            recipients: mobileIdentity
        )
    }

    /// The vendor's roles.
    var roles: ProviderRoles {
        var roles = ProviderRoles(events: events, identity: linker)
        roles.extras = self
        roles.forget = { [profile, completed] userID async throws(ExperimentationError) in
            completed.forget(of: userID)
            try await profile.forget(userID)
        }
        roles.stop = { [resuming] _ in resuming.end() }
        return roles
    }

    /// Reads an earlier run's state, and resumes an interrupted merge and owed rows in the background.
    func begin() async throws(ExperimentationError) {
        try await profile.load()
        guard profile.record.merge != nil || !profile.record.audits.isEmpty else { return }
        resuming.begin { [mobileIdentity, environment] in
            do throws(ExperimentationError) {
                try await mobileIdentity.resumePendingMerge()
            } catch {
                environment.log.log(
                    .warning,
                    "engage.merge.pending",
                    "an interrupted merge still waits: \(error.message)"
                )
            }
        }
    }

    /// The merge that is resumed in the background.
    private final class ResumingTask: Sendable {
        private let task = Mutex<Task<Void, Never>?>(nil)

        func begin(_ work: @escaping @Sendable () async -> Void) {
            task.withLock { $0 = Task { await work() } }
        }

        func end() { task.withLock { $0?.cancel() } }
    }
}
