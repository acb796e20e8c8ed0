import Experimentation

/// One vendor of a subject that combines several, while a case runs.
public struct SubjectPart: Sendable {
    /// The name that metadata and tables use for it.
    public let name: String
    /// The vendor by itself.
    public let subject: any ConformanceSubject
    /// Its mock.
    public let stage: any SubjectStage
    /// The part of the world that it holds.
    public let world: World
    /// The account that its events are owed to; `nil` before there was a client.
    public let destination: Destination?
    private let take: @Sendable () async throws -> [Received]

    /// Creates a part.
    ///
    /// - Parameters:
    ///   - name: The name that metadata and tables use for it.
    ///   - subject: The vendor by itself.
    ///   - stage: Its mock.
    ///   - world: The part of the world that it holds.
    ///   - destination: The account that its events are owed to.
    ///   - received: What it has received, with exposures recognized in whatever form they were sent.
    public init(
        _ name: String,
        _ subject: any ConformanceSubject,
        _ stage: any SubjectStage,
        world: World,
        destination: Destination?,
        received: @escaping @Sendable () async throws -> [Received]
    ) {
        self.name = name
        self.subject = subject
        self.stage = stage
        self.world = world
        self.destination = destination
        take = received
    }

    /// What it has received so far.
    public func received() async throws -> [Received] { try await take() }

    /// Whether it decides flags.
    public var decides: Bool { subject.capabilities.contains(.flags) }
    /// Whether it takes events.
    public var takesEvents: Bool { subject.capabilities.contains(.tracking) }

    /// Its ledger with a client.
    func ledger(_ client: ExperimentationClient) async throws -> Ledger {
        guard let destination else { return Ledger() }
        return try await client.ledgers()[destination] ?? Ledger()
    }
}
