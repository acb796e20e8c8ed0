/// The shape of `config.json`, in the vendor's spelling.
///
/// Which lists lose only their broken elements, and which invalidate what contains them, is part of the wire: the
/// service sends configurations that older SDKs can't read in full.
enum SigmaWire {
    /// The whole document.
    struct Root: Decodable, Sendable {
        var useGeo: Bool
        var featureFlags: [Flag]
        var experiments: [Experiment]

        enum CodingKeys: String, CodingKey {
            case useGeo = "use_geo"
            case featureFlags = "feature_flags"
            case experiments
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let lists: [CodingKeys] = [.featureFlags, .experiments]
            // Some other server's object must not remove all users' flags.
            guard try lists.contains(where: { try container.contains($0) && !container.decodeNil(forKey: $0) }) else {
                throw DecodingError.keyNotFound(
                    CodingKeys.featureFlags,
                    .init(codingPath: decoder.codingPath, debugDescription: "neither flags nor experiments")
                )
            }
            useGeo = try container.decodeIfPresent(Bool.self, forKey: .useGeo) ?? true
            featureFlags = try container.lossy(Flag.self, forKey: .featureFlags)
            experiments = try container.lossy(Experiment.self, forKey: .experiments)
        }
    }

    /// An experiment, of any kind.
    struct Experiment: Decodable, Sendable {
        var name: String
        var type: Kind?
        var salt: String
        var allocation: Double
        var layerID: String?
        var layerBounds: [Bounds]
        var groups: [Group]
        var params: [Param]
        var targets: Targets?
        var featureFlags: [Flag]
        var forcedUserList: [String]
        var holdouts: [String]
        var splitBy: SplitID
        var platforms: [String]

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
            allocation = try container.decode(NumberOrText.self, forKey: .allocation).value
            layerID = try container.decodeIfPresent(String.self, forKey: .layerID)
            layerBounds = try container.lossy(Bounds.self, forKey: .layerBounds)
            groups = try container.lossy(Group.self, forKey: .groups)
            params = try container.lossy(Param.self, forKey: .params)
            targets = try container.decodeIfPresent(Targets.self, forKey: .targets)
            featureFlags = try container.lossy(Flag.self, forKey: .featureFlags)
            forcedUserList = try container.lossy(String.self, forKey: .forcedUserList)
            holdouts = try container.lossy(String.self, forKey: .holdouts)
            splitBy = try container.decodeIfPresent(SplitID.self, forKey: .splitBy) ?? .userID
            platforms = try container.platforms(list: .platforms, single: .platform)
            _ = try container.decodeIfPresent(Bool.self, forKey: .isPrivate)
        }
    }

    /// The purpose of an experiment.
    enum Kind: Int, Decodable, Sendable {
        case featureFlag = 1
        case parameter
        case splitURL
        case webBuilder
        case holdout
    }

    /// The id by which an experiment splits.
    enum SplitID: String, Decodable, Sendable {
        case userID = "userId"
        case deviceID = "deviceId"
        case profileID = "profileId"
    }

    /// A part of a layer, from 0 to 100.
    struct Bounds: Decodable, Sendable {
        var lower: Double
        var upper: Double

        enum CodingKeys: String, CodingKey {
            case lower = "lower_bound"
            case upper = "upper_bound"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            lower = try container.decode(NumberOrText.self, forKey: .lower).value
            upper = try container.decode(NumberOrText.self, forKey: .upper).value
        }
    }

    /// A group of an experiment.
    struct Group: Decodable, Sendable {
        var name: String
        var label: String?
        var weight: Double
        var forcedUserList: [String]

        enum CodingKeys: String, CodingKey {
            case name, label, weight
            case forcedUserList = "forced_user_list"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            label = try container.decodeIfPresent(String.self, forKey: .label)
            weight = try container.decode(NumberOrText.self, forKey: .weight).value
            forcedUserList = try container.lossy(String.self, forKey: .forcedUserList)
        }
    }

    /// A parameter of an experiment.
    struct Param: Decodable, Sendable {
        var name: String
        var type: String?
        var values: [Value]

        /// The parameter's value in one group.
        struct Value: Decodable, Sendable {
            var group: String
            var value: String
        }

        enum CodingKeys: String, CodingKey { case name, type, values }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            name = try container.decode(String.self, forKey: .name)
            type = try container.decodeIfPresent(String.self, forKey: .type)
            values = try container.lossy(Value.self, forKey: .values)
        }
    }

    /// A flag, of the project or of an experiment.
    struct Flag: Decodable, Sendable {
        var name: String
        var type: String?
        var platforms: [String]
        var rules: [Rule]
        var groups: [GroupRules]

        /// The rules for one group of an experiment.
        struct GroupRules: Decodable, Sendable {
            var group: String
            var rules: [Rule]

            enum CodingKeys: String, CodingKey { case group, rules }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                group = try container.decode(String.self, forKey: .group)
                rules = try container.lossy(Rule.self, forKey: .rules)
            }
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
            rules = try container.lossy(Rule.self, forKey: .rules)
            groups = try container.lossy(GroupRules.self, forKey: .groups)
        }
    }

    /// A value and its audience.
    struct Rule: Decodable, Sendable {
        var isDefault: Bool
        var value: String
        var statement: Statement
        var conditions: [Condition]

        enum CodingKeys: String, CodingKey {
            case value, conditions
            case isDefault = "is_default"
            case statement = "conditional_statement"
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            isDefault = try container.decodeIfPresent(Bool.self, forKey: .isDefault) ?? false
            value = try container.decode(String.self, forKey: .value)
            statement = try container.decode(Statement.self, forKey: .statement)
            conditions = try container.decodeIfPresent([Condition].self, forKey: .conditions) ?? []
        }
    }

    /// The audience of an experiment.
    struct Targets: Decodable, Sendable {
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

    /// How conditions are joined.
    enum Statement: String, Decodable, Sendable {
        case all = "AND"
        case any = "OR"
        case unconditional = "-"
    }

    /// One test of one property.
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
    struct NumberOrText: Decodable, Sendable {
        var value: Double

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                guard let number = Double(text), number.isFinite else {
                    throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a number")
                }
                value = number
            } else {
                value = try container.decode(Double.self)
            }
        }
    }

    /// Any value; skips a broken element.
    struct Skipped: Decodable {
        init(from decoder: any Decoder) {}
    }
}

extension KeyedDecodingContainer {
    /// Returns the readable elements of a list; empty if there is no list.
    func lossy<Element: Decodable>(_ type: Element.Type, forKey key: Key) throws -> [Element] {
        guard contains(key), try !decodeNil(forKey: key) else { return [] }
        var list = try nestedUnkeyedContainer(forKey: key)
        var elements: [Element] = []
        while !list.isAtEnd {
            if let element = try? list.decode(Element.self) {
                elements.append(element)
            } else {
                _ = try list.decode(SigmaWire.Skipped.self)
            }
        }
        return elements
    }

    /// Returns the platforms of a list, or the single one of older configurations.
    func platforms(list: Key, single: Key) throws -> [String] {
        if let platforms = try decodeIfPresent([String].self, forKey: list) { return platforms }
        return try decodeIfPresent(String.self, forKey: single).map { [$0] } ?? []
    }
}
