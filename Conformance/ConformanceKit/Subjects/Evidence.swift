import Experimentation

/// How a claim about a vendor is known.
public enum Provenance: String, Sendable, Hashable, Codable, CaseIterable {
    /// The vendor documents it.
    case documented
    /// Read in the source of the vendor's SDK, or in other material that it publishes.
    case read = "read in the SDK"
    /// Observed between a real client and the vendor, or a real client and the mock.
    case recorded
    /// Not observed: inferred by the adapter's author.
    case inferred
}

/// How a subject's declarations and its mock's behavior are known.
///
/// Reports show it: a capability that rests on inference is marked.
public struct Evidence: Sendable, Hashable, Codable {
    /// One behavior of the mock vendor.
    public struct WireRule: Sendable, Hashable, Codable {
        /// The behavior.
        public var behavior: String
        /// How it is known to be the vendor's.
        public var provenance: Provenance
        /// The setting that changes the mock's behavior; `nil` if there is none.
        public var setting: String?

        /// Creates a rule.
        public init(_ provenance: Provenance, _ behavior: String, setting: String? = nil) {
            self.behavior = behavior
            self.provenance = provenance
            self.setting = setting
        }
    }

    /// A sample of the vendor's wire format that tests rely on.
    public struct Fixture: Sendable, Hashable, Codable {
        /// The file's name.
        public var file: String
        /// How its shape is known.
        public var provenance: Provenance
        /// The source of the shape.
        public var source: String

        /// Creates a sample.
        public init(_ file: String, _ provenance: Provenance, source: String) {
            self.file = file
            self.provenance = provenance
            self.source = source
        }
    }

    /// How each declared capability is known, by its raw value.
    public var capabilities: [String: Provenance]
    /// How the mock's behavior is known where the vendor's documentation leaves it open.
    public var rules: [WireRule]
    /// How the shapes of the samples are known.
    public var fixtures: [Fixture]

    /// Creates evidence; empty by default.
    public init(
        _ capabilities: [Capability: Provenance] = [:],
        rules: [WireRule] = [],
        fixtures: [Fixture] = []
    ) {
        self.capabilities = Dictionary(uniqueKeysWithValues: capabilities.map { ($0.key.rawValue, $0.value) })
        self.rules = rules
        self.fixtures = fixtures
    }

    /// How a capability is known; `nil` if nothing is stated.
    public func provenance(of capability: Capability) -> Provenance? { capabilities[capability.rawValue] }

    /// Whether a capability rests on inference.
    public func isInferred(_ capability: Capability) -> Bool { provenance(of: capability) == .inferred }

    /// The number of rules and samples by provenance, in the order of ``Provenance``.
    public var counts: [(provenance: Provenance, rules: Int, fixtures: Int)] {
        Provenance.allCases.map { way in
            (way, rules.count { $0.provenance == way }, fixtures.count { $0.provenance == way })
        }
    }
}

extension Evidence {
    /// The symbol of a declared capability in a table: `✓`, or `(✓)` where it rests on inference.
    public func tick(_ capability: Capability) -> String { isInferred(capability) ? "(✓)" : "✓" }

    /// The legend for the symbols of ``tick(_:)``.
    public static let legend = "(✓) \(restingOnInference)"
    static let restingOnInference = "rests on what is inferred of the vendor"

    /// What is only inferred about the mock, a line each.
    public var inferences: [String] {
        rules.filter { $0.provenance == .inferred }.map { rule in
            rule.setting.map { "\(rule.behavior) (setting \($0))" } ?? rule.behavior
        }
    }

    /// The JSON form.
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
