import Experimentation

/// An adapter with its vendor, or a mock of it: what the suite and the comparison run against.
///
/// Conform with one small file per vendor: start the mock vendor, fill it from the ``World``, create providers
/// configured for it, and report in neutral terms what it received. Configure providers for tests: reads with at most
/// three attempts, back-off below 50 ms and a deadline of a second or two; leave everything else at its default.
public protocol ConformanceSubject: Sendable {
    /// The vendor's name, in lower case.
    var name: String { get }

    /// The declared capabilities; the same set as the provider's.
    var capabilities: Set<Capability> { get }

    /// Why the other capabilities are missing, for reports: "there are no events".
    var reasons: [Capability: String] { get }

    /// The fields of an event that the vendor's wire carries; only these fields of ``Received`` are compared.
    var wireFields: Set<Received.Field> { get }

    /// Why the wire doesn't carry the other fields, for reports: "a hit has no room for attributes".
    ///
    /// A field that is neither carried nor explained counts as lost, and fails. A field of an undeclared capability
    /// (ids of events, exposures, orders and items) needs no reason.
    var wireReasons: [Received.Field: String] { get }

    /// The ``Received/type`` of events that the wire can't distinguish from others: `["goalCompleted": "custom"]`.
    var wireTypes: [String: String] { get }
    /// The capabilities of other vendors behind this subject besides the one that answers; empty for a single vendor.
    ///
    /// They are neither required, because the answering vendor lacks them, nor refused, because another one has them.
    var capabilitiesOfOthers: Set<Capability> { get }

    /// Why a fault can't occur between the adapter and its vendor; `nil` if it can.
    ///
    /// For a destination without a server, such as a file: nothing there answers with a status or redirects. A case
    /// that needs such a fault doesn't apply. A vendor that is reached over HTTP can have every fault.
    func reason(forImpossible fault: WorldFault) -> String?

    /// Whether this subject combines several vendors, so that ``ConformanceCase/composing`` applies to it.
    var isComposed: Bool { get }

    /// Whether users move from one vendor to another behind this subject, so that ``ConformanceCase/moving`` applies to
    /// it.
    var isMoving: Bool { get }

    /// Whether this is a whole SDK with a cache and an outbox of its own: of all cases, ``ConformanceCase/wholeSDK``
    /// applies to it, and to no other subject.
    var isWholeSDK: Bool { get }

    /// The known deviations from the neutral contract.
    var knownDeviations: [KnownDeviation] { get }

    /// The adapter's version, for reports; `nil` if it has none of its own.
    var version: String? { get }

    /// How the declared capabilities and the mock's behavior are known.
    var evidence: Evidence { get }

    /// A caveat about the variations that this vendor's users get, for reports; `nil` if there is none.
    ///
    /// Reports include it wherever such a decision is compared.
    var variationCaveat: String? { get }

    /// Starts the mock vendor with a world and without connections.
    ///
    /// Every call starts a separate mock, so that cases can run concurrently.
    ///
    /// - Throws: When the mock can't be started. Parts of the world that the vendor can't represent are not errors:
    ///   see ``SubjectStage/gaps``.
    func open(_ world: World) async throws -> any SubjectStage

    /// Creates the empty stores of a case; in memory unless a subject needs to be tested with others.
    func makeStore() async throws -> ClientStore
}

extension ConformanceSubject {
    /// Empty: there are no reasons.
    public var reasons: [Capability: String] { [:] }
    /// Empty: there are no reasons.
    public var wireReasons: [Received.Field: String] { [:] }
    /// Empty: every type can be distinguished.
    public var wireTypes: [String: String] { [:] }
    /// Empty: there is a single vendor.
    public var capabilitiesOfOthers: Set<Capability> { [] }
    /// `false`: there is a single vendor.
    public var isComposed: Bool { false }
    /// `false`: no users are moved.
    public var isMoving: Bool { false }
    /// `false`: it is used through the framework's client.
    public var isWholeSDK: Bool { false }
    /// `nil`: every fault can occur.
    public func reason(forImpossible fault: WorldFault) -> String? { nil }
    /// Empty: there are none.
    public var knownDeviations: [KnownDeviation] { [] }
    /// `nil`: there is no version of its own.
    public var version: String? { nil }
    /// Empty: nothing is stated.
    public var evidence: Evidence { Evidence() }
    /// `nil`: there is no caveat.
    public var variationCaveat: String? { nil }
    /// Creates stores in memory.
    public func makeStore() async throws -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    }
}

/// A mock vendor with a world, while a case or scenario runs on it.
public protocol SubjectStage: Sendable {
    /// The parts of the world that the vendor can't represent.
    var gaps: [WorldGap] { get async }

    /// The current client's vendors behind this stage, if there are several.
    var parts: [SubjectPart] { get }

    /// The move behind this stage; `nil` if there is none.
    var move: (any SubjectMove)? { get }

    /// The mock's keys, tokens and passwords, which must never appear in logs, errors and reports.
    var secrets: [String] { get }

    /// Whether the vendor that answers here announces changes; a provider that listens may listen only to another
    /// vendor.
    var tellsOfChanges: Bool { get async throws }

    /// Whether a provider that listens for changes is connected: time that is pushed before that counts as silence.
    ///
    /// `true` where connecting takes no time.
    var isHeard: Bool { get async throws }

    /// Creates a provider for the mock; called again for a restart or a second device.
    ///
    /// - Returns: A provider that hasn't been started.
    /// - Throws: When the mock is gone.
    func makeProvider() async throws -> any ExperimentationProvider

    /// Changes the vendor's world, as someone at its console would.
    ///
    /// Keeps what the vendor has received.
    func change(to world: World) async throws

    /// Appends faults to the script; they apply to requests from now on, in order.
    ///
    /// - Throws: ``SubjectError/unsupported(_:)`` when the vendor's wire can't fail in this way; allowed only for a
    ///   failure with status 200 and a request for credentials.
    func inject(_ faults: [WorldFault]) async throws

    /// Removes the pending faults.
    func clearFaults() async throws

    /// Turns the vendor's kill switch on or off.
    ///
    /// - Throws: ``SubjectError/unsupported(_:)`` when the vendor has none.
    func setKillSwitch(_ isOn: Bool) async throws

    /// Takes the vendor off the network, so that connecting fails, or restores it at the same address.
    func setReachable(_ isReachable: Bool) async throws

    /// Simulates network latency: each answer, and each new connection, takes this long.
    ///
    /// - Returns: Whether there is a wire to delay; without one, times mean nothing.
    func setRoundTrip(_ duration: Duration) async -> Bool

    /// The events that the vendor has accepted so far, in neutral terms and in the order of arrival, including
    /// repetitions.
    func received() async throws -> [Received]

    /// Returns the events that the vendor has accepted since the last call, and forgets them and the exchanges.
    ///
    /// Keeps what the vendor knows of its users. For scenarios that would outgrow memory.
    ///
    /// - Returns: The events; `nil` if this stage can't forget them.
    func takeReceived() async throws -> [Received]?

    /// Every exchange so far, in the order of arrival.
    func exchanges() async throws -> [Exchange]

    /// The number of exchanges so far; faster than ``exchanges()`` where those are expensive.
    func exchangeCount() async throws -> Int

    /// The exchanges from an index on.
    func exchanges(from index: Int) async throws -> [Exchange]

    /// A client's ledger with this vendor.
    ///
    /// By default the client's whole ledger; a subject of several vendors returns one vendor's ledger.
    func ledger(of client: ExperimentationClient) async throws -> Ledger

    /// Whether unknown consent holds events back from this vendor.
    ///
    /// By default the provider's value; a subject of several vendors returns one vendor's value.
    func needsConsent(_ roles: ProviderRoles) -> Bool

    /// Shuts the mock down; called once.
    func close() async
}

extension SubjectStage {
    /// Empty: there is a single vendor.
    public var parts: [SubjectPart] { [] }
    /// `nil`: no users are moved.
    public var move: (any SubjectMove)? { nil }
    /// `true`: it announces changes.
    public var tellsOfChanges: Bool { get async throws { true } }
    /// `true`: connecting takes no time.
    public var isHeard: Bool { get async throws { true } }
    /// `nil`: it can't forget.
    public func takeReceived() async throws -> [Received]? { nil }

    /// Empty: there are none.
    public var gaps: [WorldGap] { get async { [] } }
    /// Empty: there are none.
    public var secrets: [String] { [] }
    /// `false`: there is no wire.
    public func setRoundTrip(_ duration: Duration) async -> Bool { false }
    /// The provider's value.
    public func needsConsent(_ roles: ProviderRoles) -> Bool { roles.needsConsent }
    /// All accounts together.
    public func ledger(of client: ExperimentationClient) async throws -> Ledger { try await client.ledger() }
}

/// The error of an operation that a subject can't carry out.
///
/// It is a failure in a case that requires nothing beyond the declared capabilities.
public enum SubjectError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The vendor has no equivalent, for this reason.
    case unsupported(String)
    /// The mock doesn't work, for this reason.
    case broken(String)

    /// The reason.
    public var description: String {
        switch self {
        case .unsupported(let reason), .broken(let reason): reason
        }
    }
}

extension SubjectStage {
    /// Counts all exchanges.
    public func exchangeCount() async throws -> Int { try await exchanges().count }

    /// Drops the earlier exchanges.
    public func exchanges(from index: Int) async throws -> [Exchange] { Array(try await exchanges().dropFirst(index)) }
}
