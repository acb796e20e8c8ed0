import AdapterKit
import Experimentation

/// Told of each exposure that the vendor has taken, on the main actor: the visitor first, then the flag.
public typealias FlagshipExposureCallback = @MainActor @Sendable (FlagshipExposedVisitor, FlagshipExposedFlag) -> Void

/// The visitor of an exposure, as it was when the flag was seen.
public struct FlagshipExposedVisitor: Sendable, Hashable {
    /// The visitor's id.
    public var id: String
    /// The visitor's id from before signing in.
    public var anonymousID: String?
    /// The visitor's context; by the neutral client the one of the last refresh, and empty for an exposure that an earlier run
    /// left.
    public var context: [String: FlagValue]

    /// Creates a visitor.
    public init(id: String, anonymousID: String? = nil, context: [String: FlagValue] = [:]) {
        self.id = id
        self.anonymousID = anonymousID
        self.context = context
    }

    /// The members by the vendor's names; an anonymous id that isn't there is left out.
    public func toDictionary() -> [String: FlagValue] {
        var members: [String: FlagValue] = ["id": .string(id), "context": .object(context)]
        if let anonymousID { members["anonymousId"] = .string(anonymousID) }
        return members
    }

    /// The same as JSON text with sorted names; `nil` for a number that JSON has no form for.
    public func toJson() -> String? { FlagshipJSON.text(.object(toDictionary())) }
}

/// The flag of an exposure.
public struct FlagshipExposedFlag: Sendable, Hashable {
    /// The flag's key; empty for an exposure that was recorded for an experiment, not for a flag.
    public var key: String
    /// The flag's own value.
    public var value: FlagValue?
    /// The default that the reader named.
    public var defaultValue: FlagValue?
    /// Where the value comes from.
    public var metadata: FlagshipFlagMetadata

    /// Creates a flag.
    public init(key: String, value: FlagValue?, defaultValue: FlagValue?, metadata: FlagshipFlagMetadata) {
        self.key = key
        self.value = value
        self.defaultValue = defaultValue
        self.metadata = metadata
    }

    /// The members by the vendor's names; what isn't there is left out.
    public func toDictionary() -> [String: FlagValue] {
        var members: [String: FlagValue] = ["key": .string(key), "metadata": .object(metadata.toDictionary())]
        if let value { members["value"] = value }
        if let defaultValue { members["defaultValue"] = defaultValue }
        return members
    }

    /// The same as JSON text with sorted names; `nil` for a number that JSON has no form for.
    public func toJson() -> String? { FlagshipJSON.text(.object(toDictionary())) }
}

/// The campaign, the group and the variation that a flag's value comes from.
public struct FlagshipFlagMetadata: Sendable, Hashable, Codable {
    /// The campaign's id; empty where nothing is known.
    public var campaignId = ""
    /// The campaign's name.
    public var campaignName = ""
    /// The variation group's id.
    public var variationGroupId = ""
    /// The variation group's name.
    public var variationGroupName = ""
    /// The variation's id.
    public var variationId = ""
    /// The variation's name.
    public var variationName = ""
    /// Whether the variation is the one that the others are compared with.
    public var isReference = false
    /// The campaign's type, such as `ab`.
    public var campaignType = ""
    /// The campaign's slug, if people gave it one.
    public var slug = ""

    /// Creates metadata of nothing.
    public init() {}

    /// Reads the metadata of a flag of the neutral client.
    public init(_ metadata: [String: FlagValue]) {
        campaignId = metadata.text("campaignId")
        campaignName = metadata.text("campaignName")
        variationGroupId = metadata.text("variationGroupId")
        variationGroupName = metadata.text("variationGroupName")
        variationId = metadata.text("variationId")
        variationName = metadata.text("variationName")
        isReference = metadata["isReference"]?.boolValue ?? false
        campaignType = metadata.text("campaignType")
        slug = metadata.text("slug")
    }

    /// The members by the vendor's names, all of them.
    public func toDictionary() -> [String: FlagValue] {
        [
            "campaignId": .string(campaignId), "campaignName": .string(campaignName),
            "variationGroupId": .string(variationGroupId), "variationGroupName": .string(variationGroupName),
            "variationId": .string(variationId), "variationName": .string(variationName),
            "isReference": .bool(isReference), "campaignType": .string(campaignType), "slug": .string(slug),
        ]
    }

    /// The same as JSON text with sorted names.
    public func toJson() -> String { FlagshipJSON.text(.object(toDictionary())) ?? "{}" }
}

/// JSON as text.
enum FlagshipJSON {
    /// The text with sorted names, or `nil` for a value that JSON has no form for.
    static func text(_ value: FlagValue) -> String? {
        (try? JSON.encode(value, order: .sorted)).map { String(decoding: $0, as: UTF8.self) }
    }
}
