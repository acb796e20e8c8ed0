public import Experimentation
public import Logging

/// What telemetry says, how much of it, and of whom.
public struct TelemetryOptions: Sendable {
    /// How users appear.
    public enum IDs: Sendable, Hashable {
        /// Not at all. The default: an id is personal data.
        case omitted
        /// As 16 digits that tell one user from another, but not who it is to somebody without the key.
        ///
        /// - Parameter key: What is digested with the id; the same key gives the same digits. Keep it as a secret: ids that can be
        ///   guessed can be looked for with it.
        case digested(key: String)
        /// As they are.
        case plain
    }

    /// To which servers a request carries the trace that it is part of.
    public enum Propagation: Sendable, Hashable {
        /// To none. The default: a vendor is somebody else.
        case none
        /// To these hosts, named without a port.
        case hosts(Set<String>)
        /// To every server that is asked.
        case everywhere
    }

    /// By which version of the conventions attributes are named.
    public var names: FlagAttribute.Names
    /// How users appear in events.
    public var ids: IDs
    /// Whether a value is told although there is a variant.
    public var includesValues: Bool
    /// Attributes that aren't sent, by their names; `feature_flag.key` always is.
    public var excludedAttributes: Set<String>
    /// More attributes of an evaluation's event; none takes the place of one that is there.
    ///
    /// It isn't called for what isn't logged.
    public var attributeMapper: (@Sendable (EvaluationDetails<FlagValue>) -> [String: FlagValue])?
    /// How many characters of a text or of a written object are sent; what is cut off ends in `…`.
    public var characterLimit: Int
    /// How many attributes an event has at most.
    public var attributeLimit: Int
    /// How many evaluations may wait to be logged; more are left out and counted as dropped.
    public var waitingLimit: Int
    /// How many flags are counted apart, and how many variants of each; the rest is counted as `_other`.
    public var seriesLimit: Int
    /// The level of evaluations' events.
    public var evaluationLevel: Logger.Level
    /// The level of exposures' events.
    public var exposureLevel: Logger.Level
    /// To which servers a request carries the trace that it is part of.
    public var propagation: Propagation
    /// How often ``Telemetry/follow(_:)`` measures.
    public var interval: Duration

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
        self.characterLimit = max(characterLimit, 1)
        self.attributeLimit = max(attributeLimit, 1)
        self.waitingLimit = max(waitingLimit, 1)
        self.seriesLimit = max(seriesLimit, 1)
        self.evaluationLevel = evaluationLevel
        self.exposureLevel = exposureLevel
        self.propagation = propagation
        self.interval = max(interval, .milliseconds(100))
    }
}

extension TelemetryOptions.IDs {
    /// A user's id as it may be sent; `nil` if it may not.
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
    /// Whether a request to a host, with its port if one is named, carries its trace.
    func reaches(_ host: String) -> Bool {
        switch self {
        case .none: false
        case .everywhere: true
        case .hosts(let hosts):
            hosts.contains(host) || hosts.contains(host.lastIndex(of: ":").map { String(host[..<$0]) } ?? host)
        }
    }
}
