import Experimentation

/// How something that is said of a vendor is known.
public enum Provenance: String, Sendable, Hashable, Codable, CaseIterable {
    /// The vendor's documents say so.
    case documented
    /// It was read in the vendor's SDK, or in what else it publishes.
    case read = "read in the SDK"
    /// It was seen between a real client and the vendor, or a real client and the stand-in.
    case recorded
    /// Nobody has seen it: it is the adapter's author's reading.
    case inferred
}

/// How a subject knows what it declares, and what its vendor's stand-in does.
///
/// Reports show it: a capability that rests on inference is told from one that rests on the vendor's word.
public struct Evidence: Sendable, Hashable, Codable {
    /// One way in which the vendor's stand-in behaves.
    public struct WireRule: Sendable, Hashable, Codable {
        /// What it does.
        public var behavior: String
        /// How it is known that the vendor does.
        public var provenance: Provenance
        /// The setting by which the stand-in does otherwise; `nil` if there is none.
        public var setting: String?

        /// Creates a rule.
        public init(_ provenance: Provenance, _ behavior: String, setting: String? = nil) {
            self.behavior = behavior
            self.provenance = provenance
            self.setting = setting
        }
    }

    /// A sample of the vendor's wire that tests stand on.
    public struct Fixture: Sendable, Hashable, Codable {
        /// The file's name.
        public var file: String
        /// How its shape is known.
        public var provenance: Provenance
        /// Where the shape comes from, for people.
        public var source: String

        /// Creates a sample.
        public init(_ file: String, _ provenance: Provenance, source: String) {
            self.file = file
            self.provenance = provenance
            self.source = source
        }
    }

    /// How each declared capability is known to be the vendor's, by its written form.
    public var capabilities: [String: Provenance]
    /// How the stand-in's ways are known that the vendor's documents leave open.
    public var rules: [WireRule]
    /// How the shapes of the samples are known.
    public var fixtures: [Fixture]

    /// Creates evidence; by default nothing is said.
    public init(
        _ capabilities: [Capability: Provenance] = [:],
        rules: [WireRule] = [],
        fixtures: [Fixture] = []
    ) {
        self.capabilities = Dictionary(uniqueKeysWithValues: capabilities.map { ($0.key.rawValue, $0.value) })
        self.rules = rules
        self.fixtures = fixtures
    }

    /// How a capability is known; `nil` if nobody says.
    public func provenance(of capability: Capability) -> Provenance? { capabilities[capability.rawValue] }

    /// Whether a capability rests on inference.
    public func isInferred(_ capability: Capability) -> Bool { provenance(of: capability) == .inferred }

    /// How many rules and samples are known in each way, in the order of ``Provenance``.
    public var counts: [(provenance: Provenance, rules: Int, fixtures: Int)] {
        Provenance.allCases.map { way in
            (way, rules.count { $0.provenance == way }, fixtures.count { $0.provenance == way })
        }
    }
}

extension Evidence {
    /// A declared capability in a table: `✓`, or `(✓)` where it rests on inference.
    public func tick(_ capability: Capability) -> String { isInferred(capability) ? "(✓)" : "✓" }

    /// What the signs of ``tick(_:)`` mean, for below a table.
    public static let legend = "(✓) \(restingOnInference)"
    static let restingOnInference = "rests on what is inferred of the vendor"

    /// What isn't sure about the stand-in, each in a line; for people.
    public var inferences: [String] {
        rules.filter { $0.provenance == .inferred }.map { rule in
            rule.setting.map { "\(rule.behavior) (setting \($0))" } ?? rule.behavior
        }
    }

    /// The written form.
    public var document: FlagValue {
        [
            "capabilities": .object(capabilities.mapValues { .string($0.rawValue) }),
            "rules": .array(
                rules.map { rule in
                    var members: [String: FlagValue] = [
                        "behavior": .string(rule.behavior), "provenance": .string(rule.provenance.rawValue),
                    ]
                    if let setting = rule.setting { members["setting"] = .string(setting) }
                    return .object(members)
                }
            ),
            "fixtures": .array(
                fixtures.map {
                    [
                        "file": .string($0.file), "provenance": .string($0.provenance.rawValue),
                        "source": .string($0.source),
                    ]
                }
            ),
        ]
    }
}
