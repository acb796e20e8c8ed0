public import Experimentation
public import Logging

/// What telemetry reports, and how users appear in it.
public struct TelemetryOptions: Sendable {
    /// How user ids appear.
    public enum IDs: Sendable, Hashable {
        /// Not at all. The default, because an id is personal data.
        case omitted
        /// As a keyed digest of 16 digits, which tells users apart without naming them.
        ///
        /// - Parameter key: The key of the digest; the same key gives the same digits. Keep it secret: with it, ids
        ///   that can be guessed can be identified.
        case digested(key: String)
        /// Unchanged.
        case plain
    }

    /// Which servers receive trace headers.
    public enum Propagation: Sendable, Hashable {
        /// None. The default, because a vendor is a third party.
        case none
        /// These hosts, given without a port; capitals make no difference.
        case hosts(Set<String>)
        /// All servers.
        case everywhere
    }

    /// The version of the conventions whose names are used.
    public var names: FlagAttribute.Names
    /// How user ids appear in events.
    public var ids: IDs
    /// Whether values are sent even if there is a variant.
    public var includesValues: Bool
    /// The names of attributes to leave out; `feature_flag.key` is always sent.
    public var excludedAttributes: Set<String>
    /// Adds attributes to evaluation events; can't replace existing ones.
    ///
    /// Called only for evaluations that are logged.
    public var attributeMapper: (@Sendable (EvaluationDetails<FlagValue>) -> [String: FlagValue])?
    /// The maximum length of a string or of a value written as JSON, in Unicode scalars; truncated ones end in `…`.
    public var characterLimit: Int { didSet { keepInBounds() } }
    /// The maximum number of attributes of an event.
    public var attributeLimit: Int { didSet { keepInBounds() } }
    /// The maximum number of evaluations queued for the log; further ones are dropped and counted.
    public var waitingLimit: Int { didSet { keepInBounds() } }
    /// The maximum number of flags counted separately, each with up to 32 variants; the rest is counted as `_other`.
    public var seriesLimit: Int { didSet { keepInBounds() } }
    /// The log level of evaluation events.
    public var evaluationLevel: Logger.Level
    /// The log level of exposure events.
    public var exposureLevel: Logger.Level
    /// Which servers receive trace headers.
    public var propagation: Propagation
    /// The interval at which ``Telemetry/follow(_:)`` measures.
    public var interval: Duration { didSet { keepInBounds() } }

    /// Creates options.
    public init(
        names: FlagAttribute.Names = .current,
        ids: IDs = .omitted,
        includesValues: Bool = false,
        excludedAttributes: Set<String> = [],
        attributeMapper: (@Sendable (EvaluationDetails<FlagValue>) -> [String: FlagValue])? = nil,
        characterLimit: Int = 256,
        attributeLimit: Int = 32,
        waitingLimit: Int = 1_024,
        seriesLimit: Int = 1_000,
        evaluationLevel: Logger.Level = .info,
        exposureLevel: Logger.Level = .info,
        propagation: Propagation = .none,
        interval: Duration = .seconds(15)
    ) {
        self.names = names
        self.ids = ids
        self.includesValues = includesValues
        self.excludedAttributes = excludedAttributes
        self.attributeMapper = attributeMapper
        self.characterLimit = characterLimit
        self.attributeLimit = attributeLimit
        self.waitingLimit = waitingLimit
        self.seriesLimit = seriesLimit
        self.evaluationLevel = evaluationLevel
        self.exposureLevel = exposureLevel
        self.propagation = propagation
        self.interval = interval
        keepInBounds()
    }

    private mutating func keepInBounds() {
        // Sets only what is out of bounds, because each assignment leads here again.
        if characterLimit < 1 { characterLimit = 1 }
        if attributeLimit < 1 { attributeLimit = 1 }
        if waitingLimit < 1 { waitingLimit = 1 }
        if seriesLimit < 1 { seriesLimit = 1 }
        if interval < .milliseconds(100) { interval = .milliseconds(100) }
    }
}

extension TelemetryOptions.IDs {
    /// Returns a user's id in the chosen form; `nil` if ids are omitted.
    func shown(_ id: String) -> String? {
        guard !id.isEmpty else { return nil }
        return switch self {
        case .omitted: nil
        case .digested(let key): String(Digest.hex(key, id).prefix(16))
        case .plain: id
        }
    }
}

extension TelemetryOptions.Propagation {
    /// Whether requests to a host carry trace headers; the host may include a port.
    func reaches(_ host: String) -> Bool {
        switch self {
        case .none: false
        case .everywhere: true
        case .hosts(let hosts):
            hosts.contains { known in
                [host, ServerAddress(authority: host).host].contains { $0.lowercased() == known.lowercased() }
            }
        }
    }
}
