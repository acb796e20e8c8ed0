import Experimentation

/// An adapter together with a vendor to talk to: what the suite and the comparison run against.
///
/// Conform by one small file per vendor: open the vendor's stand-in, fill it from the ``World``, make providers that
/// are configured for it, and tell in neutral words what reached it. Providers should be configured for a test: reads
/// with at most three attempts, back-off below 50 ms and a deadline of a second or two; everything else as by default.
public protocol ConformanceSubject: Sendable {
    /// The vendor's name, in lower case.
    var name: String { get }

    /// What the adapter declares; the same set that its provider gives.
    var capabilities: Set<Capability> { get }

    /// Why what isn't declared isn't there, for people: "there are no events".
    var reasons: [Capability: String] { get }

    /// What the vendor's wire tells of an event; the fields of ``Received`` that may be compared.
    var wireFields: Set<Received.Field> { get }

    /// Why the wire doesn't tell the other fields, for people: "a hit has no room for attributes".
    ///
    /// Whatever is neither told nor explained is taken for lost, and fails. A field that belongs to a capability that
    /// isn't declared (ids of events, exposures, orders and items) needs no reason.
    var wireReasons: [Received.Field: String] { get }

    /// What ``Received/type`` says of events that the wire can't tell from others: `["goalCompleted": "custom"]`.
    var wireTypes: [String: String] { get }
    /// What others can do that stand behind this subject beside the one that answers; empty for a single vendor.
    ///
    /// It isn't promised, since the one who answers can't do it, and not refused either, since another one can.
    var capabilitiesOfOthers: Set<Capability> { get }

    /// The deviations from the neutral contract that are known.
    var knownDeviations: [KnownDeviation] { get }

    /// The adapter's version, for reports; `nil` if it has none of its own.
    var version: String? { get }

    /// How what is declared, and how the stand-in's ways, are known.
    var evidence: Evidence { get }

    /// What isn't sure about the variations that this vendor's users get, for people; `nil` if nothing is.
    ///
    /// Reports say it wherever such a decision is compared.
    var variationCaveat: String? { get }

    /// Starts the vendor's stand-in with a world, and nobody connected to it.
    ///
    /// Every call gives a vendor of its own, so that cases can run beside each other.
    ///
    /// - Throws: When the stand-in can't be started. What the vendor can't hold is no reason: that is told by
    ///   ``SubjectStage/gaps``.
    func open(_ world: World) async throws -> any SubjectStage

    /// Makes the stores of one case, empty; in memory unless a subject wants to be seen with another.
    func makeStore() async throws -> ClientStore
}

extension ConformanceSubject {
    /// No reasons.
    public var reasons: [Capability: String] { [:] }
    /// No reasons.
    public var wireReasons: [Received.Field: String] { [:] }
    /// Every type is told.
    public var wireTypes: [String: String] { [:] }
    /// None.
    public var capabilitiesOfOthers: Set<Capability> { [] }
    /// None.
    public var knownDeviations: [KnownDeviation] { [] }
    /// None.
    public var version: String? { nil }
    /// Nothing is said.
    public var evidence: Evidence { Evidence() }
    /// Everything is sure.
    public var variationCaveat: String? { nil }
    /// Stores in memory.
    public func makeStore() async throws -> ClientStore {
        ClientStore(outbox: InMemoryOutboxStore(), state: InMemoryStateStore())
    }
}

/// A vendor's stand-in with one world, while one case or scenario plays on it.
public protocol SubjectStage: Sendable {
    /// What of the world the vendor can't hold.
    var gaps: [WorldGap] { get async }

    /// What must never be seen in logs, errors and reports: keys, tokens, passwords of this stand-in.
    var secrets: [String] { get }

    /// Whether who answers here tells of changes, if the provider listens to any; it may listen to another vendor's alone.
    var tellsOfChanges: Bool { get async throws }

    /// Makes a fresh provider that talks to the stand-in; called again for a restart or a second device.
    ///
    /// - Returns: A provider that hasn't been started.
    /// - Throws: When the stand-in is gone.
    func makeProvider() async throws -> any ExperimentationProvider

    /// Changes the world at the vendor's end, as somebody at its console would.
    ///
    /// What the vendor has received stays.
    func change(to world: World) async throws

    /// Adds faults to the script; they apply to requests from now on, in order.
    ///
    /// - Throws: ``SubjectError/unsupported(_:)`` when the vendor's wire can't fail in this way, which only a failure
    ///   with status 200 and a request for credentials can be said of.
    func inject(_ faults: [WorldFault]) async throws

    /// Forgets the faults that haven't happened.
    func clearFaults() async throws

    /// Turns the vendor's kill switch.
    ///
    /// - Throws: ``SubjectError/unsupported(_:)`` when the vendor has none.
    func setKillSwitch(_ isOn: Bool) async throws

    /// Takes the vendor off the network, so that connecting fails, or puts it back under the same address.
    func setReachable(_ isReachable: Bool) async throws

    /// Puts a network between the vendor and whoever connects: each answer, and each connection, takes this long.
    ///
    /// - Returns: Whether there is a wire that takes it; without one, times mean nothing.
    func setRoundTrip(_ duration: Duration) async -> Bool

    /// What the vendor has taken so far, in neutral words and in the order of arrival, repetitions included.
    func received() async throws -> [Received]

    /// Returns what the vendor has taken since the last call, and forgets it and the exchanges; what the vendor knows of its users
    /// stays. For stories that would outgrow memory.
    ///
    /// - Returns: What was taken; `nil` if this stage can't forget.
    func takeReceived() async throws -> [Received]?

    /// Every exchange so far, in the order of arrival.
    func exchanges() async throws -> [Exchange]

    /// How many exchanges there have been; quicker than ``exchanges()`` where that costs something.
    func exchangeCount() async throws -> Int

    /// The exchanges from the one with an index on.
    func exchanges(from index: Int) async throws -> [Exchange]

    /// The accounts of a client with this vendor.
    ///
    /// All that the client has, unless a subject stands for several vendors with books of their own.
    func ledger(of client: ExperimentationClient) async throws -> Ledger

    /// Ends the stand-in; called once.
    func close() async
}

extension SubjectStage {
    /// It does.
    public var tellsOfChanges: Bool { get async throws { true } }
    /// It can't forget.
    public func takeReceived() async throws -> [Received]? { nil }

    /// None.
    public var gaps: [WorldGap] { get async { [] } }
    /// None.
    public var secrets: [String] { [] }
    /// There is no wire.
    public func setRoundTrip(_ duration: Duration) async -> Bool { false }
    /// All accounts together.
    public func ledger(of client: ExperimentationClient) async throws -> Ledger { try await client.ledger() }
}

/// A deviation from the neutral contract that is known and written down.
public struct KnownDeviation: Sendable, Hashable, Codable {
    /// The case's name; a `*` at the end stands for any rest.
    public var caseName: String
    /// Why the adapter deviates.
    public var reason: String
    /// Where more is to be read, if there is such a place.
    public var link: String?

    /// Creates a record.
    public init(_ caseName: String, reason: String, link: String? = nil) {
        self.caseName = caseName
        self.reason = reason
        self.link = link
    }

    /// Whether this record is about a case.
    public func covers(_ name: String) -> Bool {
        caseName.hasSuffix("*") ? name.hasPrefix(caseName.dropLast()) : name == caseName
    }
}

/// What a subject can say instead of doing something.
///
/// In a case that asks for nothing but what the subject declares, it is a failure.
public enum SubjectError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The vendor has nothing like it; the reason is for a person.
    case unsupported(String)
    /// The stand-in doesn't work.
    case broken(String)

    /// The reason.
    public var description: String {
        switch self {
        case .unsupported(let reason), .broken(let reason): reason
        }
    }
}

extension SubjectStage {
    /// Counts them.
    public func exchangeCount() async throws -> Int { try await exchanges().count }

    /// Leaves out the ones before.
    public func exchanges(from index: Int) async throws -> [Exchange] { Array(try await exchanges().dropFirst(index)) }
}
