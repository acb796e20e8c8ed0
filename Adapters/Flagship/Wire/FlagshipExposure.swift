import AdapterKit
import Experimentation

/// Called on the main actor with a visitor and a flag that they saw because of a variation, once the vendor has
/// accepted the variation's exposure.
public typealias FlagshipExposureCallback = @MainActor @Sendable (FlagshipExposedVisitor, FlagshipExposedFlag) -> Void

/// The visitor of an exposure, as of when the flag was seen.
public struct FlagshipExposedVisitor: Sendable, Hashable {
    /// The visitor's id.
    public var id: String
    /// The visitor's id from before signing in.
    public var anonymousID: String?
    /// The visitor's context at that moment.
    ///
    /// With the neutral client these are the user's own attributes, without the keys that the adapter adds; for an
    /// exposure left by an earlier run, those of this run's last refresh in Decision API mode, and empty if there was
    /// none.
    public var context: [String: FlagValue]

    /// Creates a visitor.
    public init(id: String, anonymousID: String? = nil, context: [String: FlagValue] = [:]) {
        self.id = id
        self.anonymousID = anonymousID
        self.context = context
    }

    /// Returns the members by the vendor's names; a missing anonymous id is left out.
    public func toDictionary() -> [String: FlagValue] {
        var members: [String: FlagValue] = ["id": .string(id), "context": .object(context)]
        if let anonymousID { members["anonymousId"] = .string(anonymousID) }
        return members
    }

    /// Returns the members as JSON with sorted names; `nil` for a number that JSON can't represent.
    public func toJson() -> String? { try? JSON.text(.object(toDictionary())) }
}

extension FlagshipExposedVisitor {
    /// The attribute in which an exposure carries its visitor's context; it isn't sent.
    static let contextAttribute = "context"

    /// The visitor as a user of the neutral client.
    init(_ user: User) {
        self.init(id: user.id, anonymousID: user.anonymousID, context: user.attributes.values)
    }
}

/// The flag of an exposure.
public struct FlagshipExposedFlag: Sendable, Hashable {
    /// The flag's key; empty for an exposure of an experiment instead of a flag.
    public var key: String
    /// The flag's own value.
    public var value: FlagValue?
    /// The caller's default.
    public var defaultValue: FlagValue?
    /// The origin of the value.
    public var metadata: FlagshipFlagMetadata

    /// Creates a flag.
    public init(key: String, value: FlagValue?, defaultValue: FlagValue?, metadata: FlagshipFlagMetadata) {
        self.key = key
        self.value = value
        self.defaultValue = defaultValue
        self.metadata = metadata
    }

    /// Returns the members by the vendor's names; missing ones are left out.
    public func toDictionary() -> [String: FlagValue] {
        var members: [String: FlagValue] = ["key": .string(key), "metadata": .object(metadata.toDictionary())]
        if let value { members["value"] = value }
        if let defaultValue { members["defaultValue"] = defaultValue }
        return members
    }

    /// Returns the members as JSON with sorted names; `nil` for a number that JSON can't represent.
    public func toJson() -> String? { try? JSON.text(.object(toDictionary())) }
}

extension FlagshipExposedFlag {
    /// Creates the flag that caused an exposure.
    init(_ exposure: Exposure) {
        self.init(
            key: exposure.flagKey ?? "",
            value: exposure.value,
            defaultValue: exposure.defaultValue,
            metadata: FlagshipFlagMetadata(exposure.assignment.metadata)
        )
    }
}

/// The campaign, variation group and variation of a flag's value.
public struct FlagshipFlagMetadata: Sendable, Hashable, Codable {
    /// The campaign's id; empty if nothing is known.
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
    /// Whether the variation is the reference that the others are compared with.
    public var isReference = false
    /// The campaign's type, such as `ab`.
    public var campaignType = ""
    /// The campaign's slug, if it has one.
    public var slug = ""

    /// Creates empty metadata.
    public init() {}

    /// Reads the metadata of a neutral client's flag.
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

    /// Returns all members by the vendor's names.
    public func toDictionary() -> [String: FlagValue] {
        [
            "campaignId": .string(campaignId), "campaignName": .string(campaignName),
            "variationGroupId": .string(variationGroupId), "variationGroupName": .string(variationGroupName),
            "variationId": .string(variationId), "variationName": .string(variationName),
            "isReference": .bool(isReference), "campaignType": .string(campaignType), "slug": .string(slug),
        ]
    }

    /// Returns the members as JSON with sorted names.
    public func toJson() -> String { (try? JSON.text(.object(toDictionary()))) ?? "{}" }
}
