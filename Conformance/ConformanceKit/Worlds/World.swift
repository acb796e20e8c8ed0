import Experimentation

/// What a vendor's back end holds and what the story needs beside it, in neutral words.
///
/// A subject translates it into its vendor's own state; a mock vendor never reads one. What the vendor can't hold is
/// told as a ``WorldGap``, never made up.
public struct World: Sendable, Hashable {
    /// A short name, as cases and reports write it.
    public var name: String
    /// What it is, in a sentence.
    public var summary: String
    /// The flags.
    public var flags: [Flag]
    /// The experiments.
    public var experiments: [Experiment]
    /// The holdouts.
    public var holdouts: [Holdout]
    /// The campaigns that come back as answers to events.
    public var campaigns: [Campaign]
    /// The people of the story; also users that the vendor knows already, where it knows users.
    public var users: [User]
    /// The items of the shop.
    public var catalogue: [CatalogItem]
    /// Whether the vendor's kill switch is on.
    public var isKillSwitchOn: Bool
    /// How many seconds the vendor lets its answers be used, where it says so itself; `nil` for the vendor's own habit.
    public var lifetime: Int?

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

    /// A copy with a change, for the moment when somebody at the vendor's console changes something.
    public func changing(_ change: (inout World) -> Void) -> World {
        var copy = self
        change(&copy)
        return copy
    }
}

// MARK: - Flags

extension World {
    /// The type that a flag is declared with.
    public enum FlagType: String, Sendable, Hashable, Codable, CaseIterable {
        /// True or false.
        case bool
        /// A whole number.
        case int
        /// A number that may have a fraction.
        case double
        /// A text.
        case string
        /// Values by name.
        case object
        /// A list.
        case array
    }

    /// A flag.
    public struct Flag: Sendable, Hashable {
        /// The key.
        public var key: String
        /// The declared type; every value is of it.
        public var type: FlagType
        /// The value for whoever no rule and no experiment gives another.
        public var value: FlagValue
        /// Values for some users; the first rule that matches counts.
        public var rules: [Rule]
        /// The experiment that decides the value, if one does.
        public var experiment: String?
        /// The value that each variation of ``experiment`` gives, by the variation's id.
        public var variations: [String: FlagValue]
        /// Whether somebody switched the flag off; the vendor then gives none, or the flag's off value.
        public var isDisabled: Bool
        /// Whether the vendor's own record of this flag is broken, so that what it sends of it can't be read.
        public var isMalformed: Bool

        /// A value for the users who meet every condition.
        public struct Rule: Sendable, Hashable {
            /// What the user must meet; all of it.
            public var when: [Condition]
            /// The value.
            public var value: FlagValue
            /// Creates a rule.
            public init(when: [Condition], value: FlagValue) {
                self.when = when
                self.value = value
            }
        }

        /// Creates a flag; its type is that of its value unless one is given.
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

    /// Something that an attribute of the user must meet.
    public struct Condition: Sendable, Hashable {
        /// How an attribute is compared.
        public enum Comparison: String, Sendable, Hashable, Codable, CaseIterable {
            /// It is this value, or one of the values of a list.
            case equals
            /// It is there and isn't this value.
            case notEquals
            /// It is a number or text before this value.
            case lessThan
            /// It is a number or text after this value.
            case greaterThan
            /// It is a text that contains this one.
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
        /// What it is compared with.
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
    /// The type of a value; `nil` for no value.
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
        /// The name that people gave it.
        public var name: String
        /// The variations with the share of users that each gets.
        public var variations: [Variation]
        /// Who may take part; all conditions together.
        public var targeting: [Condition]
        /// The layer that it shares with others, and its part there; all users by itself if `nil`.
        public var layer: Layer?
        /// Users that are put into a variation whatever their bucket says: variation ids by user id.
        public var forced: [String: String]
        /// Whether a user keeps a variation although the weights change later.
        public var isSticky: Bool
        /// Whether it runs.
        public var isRunning: Bool

        /// One of the experiences.
        public struct Variation: Sendable, Hashable {
            /// The id.
            public var id: String
            /// The name that people gave it.
            public var name: String
            /// The share of users, from 0 to 100; what is missing at 100 gets no variation at all.
            public var weight: Int
            /// Whether the others are compared with it.
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

    /// Users who are kept out of experiments, to compare with everybody else.
    public struct Holdout: Sendable, Hashable {
        /// The id.
        public var id: String
        /// The name that people gave it.
        public var name: String
        /// The share of users in it, from 0 to 100.
        public var weight: Int
        /// The experiments that they are kept out of; all if empty.
        public var experiments: [String]
        /// Creates a holdout.
        public init(_ id: String, name: String? = nil, weight: Int, experiments: [String] = []) {
            self.id = id
            self.name = name ?? id
            self.weight = weight
            self.experiments = experiments
        }
    }

    /// Something that the vendor wants shown after something that a user did.
    public struct Campaign: Sendable, Hashable {
        /// The id.
        public var id: String
        /// The name that people gave it.
        public var name: String
        /// Where it is to be shown.
        public var target: String
        /// What brings it: the type of a neutral event as ``Received/type`` has it.
        public var trigger: String
        /// The name of the event that brings it, for custom events; any if `nil`.
        public var triggerName: String?
        /// The id of the experience that users get.
        public var experience: String
        /// The users who belong to the control group.
        public var controlGroup: [String]
        /// What to show.
        public var content: [String: FlagValue]
        /// The ids of the items that it promotes.
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
