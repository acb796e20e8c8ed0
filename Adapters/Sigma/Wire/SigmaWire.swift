/// The shape of `config.json`, in the vendor's spelling.
///
/// Which lists lose only their broken elements, and which invalidate what contains them, is part of the wire format:
/// the service sends configurations that older SDKs can't read in full.
enum SigmaWire {
    struct Root: Decodable, Sendable {
        var useGeo: Bool
        @Lossy var featureFlags: [Flag]
        @Lossy var experiments: [Experiment]

        /// The number of flags and experiments that can't be read.
        var unreadable: Int {
            _featureFlags.skipped + _experiments.skipped + experiments.reduce(0) { $0 + $1.unreadableFlags }
        }

        enum CodingKeys: String, CodingKey {
            case useGeo = "use_geo"
            case featureFlags = "feature_flags"
            case experiments
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let lists: [CodingKeys] = [.featureFlags, .experiments]
            // An object from some other server must not remove all users' flags.
            guard try lists.contains(where: { try container.contains($0) && !container.decodeNil(forKey: $0) }) else {
                throw DecodingError.keyNotFound(
                    CodingKeys.featureFlags,
                    .init(codingPath: decoder.codingPath, debugDescription: "neither flags nor experiments")
                )
            }
            useGeo = try container.decodeIfPresent(Bool.self, forKey: .useGeo) ?? true
            _featureFlags = try container.decode(Lossy.self, forKey: .featureFlags)
            _experiments = try container.decode(Lossy.self, forKey: .experiments)
        }
    }

    struct Experiment: Decodable, Sendable {
        var name: String
        var type: Kind?
        var salt: String
        var allocation: Double
        var layerID: String?
        @Lossy var layerBounds: [Bounds]
        @Lossy var groups: [Group]
        @Lossy var params: [Param]
        var targets: Audience?
        @Lossy var featureFlags: [Flag]
        @Lossy var forcedUserList: [String]
        @Lossy var holdouts: [String]
        var splitBy: SplitID
        var platforms: [String]

        /// The number of its flags that can't be read.
        var unreadableFlags: Int { _featureFlags.skipped }

        enum CodingKeys: String, CodingKey {
            case name, type, salt, allocation, groups, params, targets, holdouts, platforms, platform
            case layerID = "layer_id"
            case layerBounds = "layer_bounds"
            case featureFlags = "feature_flags"
            case forcedUserList = "forced_user_list"
            case splitBy = "split_by"
            case isPrivate = "is_private"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            type = try container.decodeIfPresent(Kind.self, forKey: .type)
            salt = try container.decode(String.self, forKey: .salt)
            allocation = try container.decode(NumberOrText.self, forKey: .allocation).wrappedValue
            layerID = try container.decodeIfPresent(String.self, forKey: .layerID)
            _layerBounds = try container.decode(Lossy.self, forKey: .layerBounds)
            _groups = try container.decode(Lossy.self, forKey: .groups)
            _params = try container.decode(Lossy.self, forKey: .params)
            targets = try container.decodeIfPresent(Audience.self, forKey: .targets)
            _featureFlags = try container.decode(Lossy.self, forKey: .featureFlags)
            _forcedUserList = try container.decode(Lossy.self, forKey: .forcedUserList)
            _holdouts = try container.decode(Lossy.self, forKey: .holdouts)
            splitBy = try container.decodeIfPresent(SplitID.self, forKey: .splitBy) ?? .userID
            platforms = try container.platforms(list: .platforms, single: .platform)
            _ = try container.decodeIfPresent(Bool.self, forKey: .isPrivate)
        }
    }

    enum Kind: Int, Decodable, Sendable {
        case featureFlag = 1
        case parameter
        case splitURL
        case webBuilder
        case holdout
    }

    enum SplitID: String, Decodable, Sendable {
        case userID = "userId"
        case deviceID = "deviceId"
        case profileID = "profileId"
    }

    /// A part of a layer, from 0 to 100.
    struct Bounds: Decodable, Sendable {
        @NumberOrText var lower: Double
        @NumberOrText var upper: Double

        enum CodingKeys: String, CodingKey {
            case lower = "lower_bound"
            case upper = "upper_bound"
        }
    }

    struct Group: Decodable, Sendable {
        var name: String
        var label: String?
        @NumberOrText var weight: Double
        @Lossy var forcedUserList: [String]

        enum CodingKeys: String, CodingKey {
            case name, label, weight
            case forcedUserList = "forced_user_list"
        }
    }

    struct Param: Decodable, Sendable {
        var name: String
        var type: String?
        @Lossy var values: [Value]

        struct Value: Decodable, Sendable {
            var group: String
            var value: String
        }
    }

    /// A flag, of the project or of an experiment.
    struct Flag: Decodable, Sendable {
        var name: String
        var type: String?
        var platforms: [String]
        @Lossy var rules: [Rule]
        @Lossy var groups: [GroupRules]

        struct GroupRules: Decodable, Sendable {
            var group: String
            @Lossy var rules: [Rule]
        }

        enum CodingKeys: String, CodingKey {
            case id, name, type, platforms, platform, rules, groups
            case isPrivate = "is_private"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _ = try container.decodeIfPresent(String.self, forKey: .id)
            _ = try container.decodeIfPresent(Bool.self, forKey: .isPrivate)
            name = try container.decode(String.self, forKey: .name)
            type = try container.decodeIfPresent(String.self, forKey: .type)
            platforms = try container.platforms(list: .platforms, single: .platform)
            _rules = try container.decode(Lossy.self, forKey: .rules)
            _groups = try container.decode(Lossy.self, forKey: .groups)
        }
    }

    struct Rule: Decodable, Sendable {
        var isDefault: Bool
        var value: String
        var audience: Audience

        enum CodingKeys: String, CodingKey {
            case value
            case isDefault = "is_default"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            isDefault = try container.decodeIfPresent(Bool.self, forKey: .isDefault) ?? false
            value = try container.decode(String.self, forKey: .value)
            audience = try Audience(from: decoder)
        }
    }

    /// The users that an experiment or a rule is for.
    struct Audience: Decodable, Sendable {
        var statement: Statement
        var conditions: [Condition]

        enum CodingKeys: String, CodingKey {
            case conditions
            case statement = "conditional_statement"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            statement = try container.decode(Statement.self, forKey: .statement)
            conditions = try container.decodeIfPresent([Condition].self, forKey: .conditions) ?? []
        }
    }

    enum Statement: String, Decodable, Sendable {
        case all = "AND"
        case any = "OR"
        case unconditional = "-"
    }

    struct Condition: Decodable, Sendable {
        var name: String
        var sign: Sign
        var value: [String]

        enum CodingKeys: String, CodingKey {
            case name, value
            case sign = "condition_sign"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            sign = try container.decode(Sign.self, forKey: .sign)
            if let text = try? container.decode(String.self, forKey: .value) {
                value = [text]
            } else {
                value = try container.decodeIfPresent([String].self, forKey: .value) ?? []
            }
        }
    }

    /// The operators, all of them.
    enum Sign: String, Decodable, Sendable, CaseIterable {
        case equal
        case notEqual = "not equal"
        case anyOf = "any of"
        case noneOf = "none of"
        case containsAnyOf = "contains any of"
        case containsNoneOf = "contains none of"
        case onDate = "on date"
        case afterTime = "after time"
        case beforeTime = "before time"
        case greater
        case less
        case greaterEqual = "greater equal"
        case lessEqual = "less equal"
        case startsWith = "starts with"
        case notStartsWith = "not starts with"
        case endsWith = "ends with"
        case notEndsWith = "not ends with"
        case contains
        case notContains = "not contains"
    }

    /// A finite number that may be written as a string.
    @propertyWrapper
    struct NumberOrText: Decodable, Sendable {
        var wrappedValue: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                guard let number = Double(text), number.isFinite else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a number")
                }
                wrappedValue = number
            } else {
                wrappedValue = try container.decode(Double.self)
            }
        }
    }

    /// The readable elements of a list; empty if there is no list.
    @propertyWrapper
    struct Lossy<Element: Decodable & Sendable>: Decodable, Sendable {
        var wrappedValue: [Element]
        /// The number of elements that can't be read.
        private(set) var skipped = 0

        init(wrappedValue: [Element]) { self.wrappedValue = wrappedValue }

        init(from decoder: any Decoder) throws {
            wrappedValue = []
            var list = try decoder.unkeyedContainer()
            while !list.isAtEnd {
                if let element = try? list.decode(Element.self) {
                    wrappedValue.append(element)
                } else {
                    _ = try list.decode(Skipped.self)
                    skipped += 1
                }
            }
        }
    }

    /// Any value; skips a broken element.
    private struct Skipped: Decodable {
        init(from decoder: any Decoder) {}
    }
}

extension KeyedDecodingContainer {
    /// Decodes a list for a property that may be missing; the code that the compiler generates for it calls this.
    func decode<Element>(_ type: SigmaWire.Lossy<Element>.Type, forKey key: Key) throws -> SigmaWire.Lossy<Element> {
        try decodeIfPresent(type, forKey: key) ?? SigmaWire.Lossy(wrappedValue: [])
    }

    /// Returns the platforms of a list, or the single one of older configurations.
    func platforms(list: Key, single: Key) throws -> [String] {
        if let platforms = try decodeIfPresent([String].self, forKey: list) { return platforms }
        return try decodeIfPresent(String.self, forKey: single).map { [$0] } ?? []
    }
}
