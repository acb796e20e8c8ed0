import Experimentation

/// The content of a vendor's back end, and the users and items of a case, in neutral terms.
///
/// A subject translates it into its vendor's own state; a mock vendor never reads it. What the vendor can't represent
/// is reported as a ``WorldGap``, never made up.
public struct World: Sendable, Hashable {
    /// A short name, as used in cases and reports.
    public var name: String
    /// A description, in a sentence.
    public var summary: String
    /// The flags.
    public var flags: [Flag]
    /// The experiments.
    public var experiments: [Experiment]
    /// The holdouts.
    public var holdouts: [Holdout]
    /// The campaigns that are returned in answer to events.
    public var campaigns: [Campaign]
    /// The users of the case, also known to the vendor if it stores users.
    public var users: [User]
    /// The items of the shop.
    public var catalogue: [CatalogItem]
    /// Whether the vendor's kill switch is on.
    public var isKillSwitchOn: Bool
    /// How long the vendor's answers are valid, in seconds, if it specifies that; `nil` for the vendor's default.
    public var lifetime: Int?
    /// How long an adapter waits for the vendor before it gives up.
    ///
    /// Long by default, so that other work on the machine ends no request; short in worlds whose vendor stalls.
    public var patience = World.usualPatience

    /// The patience of a world that doesn't set one.
    public static let usualPatience: Duration = .seconds(10)

    /// Creates a world.
    public init(
        name: String,
        summary: String = "",
        flags: [Flag] = [],
        experiments: [Experiment] = [],
        holdouts: [Holdout] = [],
        campaigns: [Campaign] = [],
        users: [User] = [],
        catalogue: [CatalogItem] = [],
        isKillSwitchOn: Bool = false,
        lifetime: Int? = nil
    ) {
        self.name = name
        self.summary = summary
        self.flags = flags
        self.experiments = experiments
        self.holdouts = holdouts
        self.campaigns = campaigns
        self.users = users
        self.catalogue = catalogue
        self.isKillSwitchOn = isKillSwitchOn
        self.lifetime = lifetime
    }

    /// The flag with a key.
    public func flag(_ key: String) -> Flag? { flags.first { $0.key == key } }
    /// The experiment with an id.
    public func experiment(_ id: String) -> Experiment? { experiments.first { $0.id == id } }
    /// The user with an id.
    public func user(_ id: String) -> User? { users.first { $0.id == id } }
    /// The item with an id.
    public func item(_ id: String) -> CatalogItem? { catalogue.first { $0.id == id } }

    /// Returns a changed copy, as if someone had edited the world at the vendor's console.
    public func changing(_ change: (inout World) -> Void) -> World {
        var copy = self
        change(&copy)
        return copy
    }
}

// MARK: - Flags

extension World {
    /// The declared type of a flag.
    public enum FlagType: String, Sendable, Hashable, Codable, CaseIterable {
        /// True or false.
        case bool
        /// An integer.
        case int
        /// A number that may have a fraction.
        case double
        /// A string.
        case string
        /// Values by name.
        case object
        /// An array.
        case array
    }

    /// A flag.
    public struct Flag: Sendable, Hashable {
        /// The key.
        public var key: String
        /// The declared type, which all values have.
        public var type: FlagType
        /// The value for users who match no rule and no experiment.
        public var value: FlagValue
        /// Values for some users; the first matching rule applies.
        public var rules: [Rule]
        /// The experiment that decides the value, if any.
        public var experiment: String?
        /// The value for each variation of ``experiment``, by the variation's id.
        public var variations: [String: FlagValue]
        /// Whether the flag is switched off; the vendor then returns no value, or the flag's off value.
        public var isDisabled: Bool
        /// Whether the vendor's record of this flag is malformed and can't be parsed.
        public var isMalformed: Bool

        /// A value for the users who meet every condition.
        public struct Rule: Sendable, Hashable {
            /// The conditions, which must all be met.
            public var when: [Condition]
            /// The value.
            public var value: FlagValue
            /// Creates a rule.
            public init(when: [Condition], value: FlagValue) {
                self.when = when
                self.value = value
            }
        }

        /// Creates a flag; its type defaults to the type of its value.
        public init(
            _ key: String,
            _ value: FlagValue,
            type: FlagType? = nil,
            rules: [Rule] = [],
            experiment: String? = nil,
            variations: [String: FlagValue] = [:],
            isDisabled: Bool = false,
            isMalformed: Bool = false
        ) {
            self.key = key
            self.type = type ?? FlagType(of: value) ?? .string
            self.value = value
            self.rules = rules
            self.experiment = experiment
            self.variations = variations
            self.isDisabled = isDisabled
            self.isMalformed = isMalformed
        }
    }

    /// A condition on an attribute of the user.
    public struct Condition: Sendable, Hashable {
        /// How an attribute is compared.
        public enum Comparison: String, Sendable, Hashable, Codable, CaseIterable {
            /// The attribute equals the value, or one of an array's values.
            case equals
            /// The attribute is present and doesn't equal the value.
            case notEquals
            /// The attribute is a number or string less than the value.
            case lessThan
            /// The attribute is a number or string greater than the value.
            case greaterThan
            /// The attribute is a string that contains the value.
            case contains
            /// It is a date or a time before this one.
            case before
            /// It is a date or a time after this one.
            case after
            /// It is a date or a time on this day.
            case onDay
            /// It is a version before this one; 2.9 comes before 2.10, and 2.0 is 2.
            case versionBefore
            /// It is a version after this one.
            case versionAfter
            /// A comparison that no vendor's client knows; it never matches.
            case unknownOperator
        }

        /// The attribute's name.
        public var attribute: String
        /// How it is compared.
        public var comparison: Comparison
        /// The value that it is compared with.
        public var value: FlagValue

        /// Creates a condition.
        public init(_ attribute: String, _ comparison: Comparison = .equals, _ value: FlagValue) {
            self.attribute = attribute
            self.comparison = comparison
            self.value = value
        }
    }
}

extension World.FlagType {
    /// Creates the type of a value; `nil` for null.
    public init?(of value: FlagValue) {
        switch value {
        case .null: return nil
        case .bool: self = .bool
        case .int: self = .int
        case .double: self = .double
        case .string: self = .string
        case .object: self = .object
        case .array: self = .array
        }
    }
}

// MARK: - Experiments

extension World {
    /// An experiment.
    public struct Experiment: Sendable, Hashable {
        /// The id.
        public var id: String
        /// The display name.
        public var name: String
        /// The variations with their weights.
        public var variations: [Variation]
        /// Who takes part; all conditions must be met.
        public var targeting: [Condition]
        /// The layer that it shares with others, and its part there; all users by itself if `nil`.
        public var layer: Layer?
        /// Users that are put into a variation whatever their bucket says: variation ids by user id.
        public var forced: [String: String]
        /// Whether a user keeps a variation when the weights change.
        public var isSticky: Bool
        /// Whether it is running.
        public var isRunning: Bool

        /// A variation of an experiment.
        public struct Variation: Sendable, Hashable {
            /// The id.
            public var id: String
            /// The display name.
            public var name: String
            /// The percentage of users; the remainder to 100 gets no variation.
            public var weight: Int
            /// Whether it is the control.
            public var isControl: Bool
            /// Creates a variation.
            public init(_ id: String, name: String? = nil, weight: Int, isControl: Bool = false) {
                self.id = id
                self.name = name ?? id
                self.weight = weight
                self.isControl = isControl
            }
        }

        /// Creates an experiment.
        public init(
            _ id: String,
            name: String? = nil,
            variations: [Variation],
            targeting: [Condition] = [],
            layer: Layer? = nil,
            forced: [String: String] = [:],
            isSticky: Bool = false,
            isRunning: Bool = true
        ) {
            self.id = id
            self.name = name ?? id
            self.variations = variations
            self.targeting = targeting
            self.layer = layer
            self.forced = forced
            self.isSticky = isSticky
            self.isRunning = isRunning
        }
    }

    /// Users who are kept out of experiments for comparison with everyone else.
    public struct Holdout: Sendable, Hashable {
        /// The id.
        public var id: String
        /// The display name.
        public var name: String
        /// The percentage of users in it.
        public var weight: Int
        /// The experiments that its users are kept out of; all if empty.
        public var experiments: [String]
        /// Creates a holdout.
        public init(_ id: String, name: String? = nil, weight: Int, experiments: [String] = []) {
            self.id = id
            self.name = name ?? id
            self.weight = weight
            self.experiments = experiments
        }
    }

    /// Content that the vendor wants shown in response to an event.
    public struct Campaign: Sendable, Hashable {
        /// The id.
        public var id: String
        /// The display name.
        public var name: String
        /// The target where it is shown.
        public var target: String
        /// The type of the event that triggers it, as in ``Received/type``.
        public var trigger: String
        /// The name of the custom event that triggers it; any if `nil`.
        public var triggerName: String?
        /// The id of the experience that users get.
        public var experience: String
        /// The users in the control group.
        public var controlGroup: [String]
        /// The content to show.
        public var content: [String: FlagValue]
        /// The ids of the promoted items.
        public var promotedItems: [String]

        /// Creates a campaign.
        public init(
            _ id: String,
            name: String? = nil,
            target: String,
            trigger: String,
            triggerName: String? = nil,
            experience: String,
            controlGroup: [String] = [],
            content: [String: FlagValue] = [:],
            promotedItems: [String] = []
        ) {
            self.id = id
            self.name = name ?? id
            self.target = target
            self.trigger = trigger
            self.triggerName = triggerName
            self.experience = experience
            self.controlGroup = controlGroup
            self.content = content
            self.promotedItems = promotedItems
        }
    }
}
