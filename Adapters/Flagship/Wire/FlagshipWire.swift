import Experimentation

/// The constants of the vendor's wire.
enum FlagshipWire {
    /// The SDK that this adapter replaces, by which the vendor's server distinguishes SDKs.
    static let sdkClient = "iOS"
    /// The version of that SDK.
    static let sdkVersion = "4.0.3"
    /// The address of the Decision API in the vendor's notation, with a trailing slash.
    static let decisionURL = "https://decision.flagship.io/v2/"
    /// The source of every hit.
    static let dataSource = "APP"

    /// The largest number of exposures in one request.
    static let largestActivation = 100
}

/// An answer to a request for campaigns.
///
/// Read member by member: a missing member, or one of the wrong type, takes its default, except for the list of
/// campaigns.
struct CampaignsAnswer: Sendable {
    struct Campaign: Sendable {
        var origin: FlagshipFlagMetadata
        var flags: [(key: String, value: FlagValue)]
    }

    var isPanicking: Bool
    var campaigns: [Campaign]
    /// The number of campaigns without a variation; the vendor leaves these out itself.
    var unreadable: Int
    var settings: AccountSettings?

    /// Parses an answer.
    ///
    /// The vendor sends the list of campaigns with every answer. An answer without one comes from something in between,
    /// and must not count as one without campaigns, which would remove all users' flags; the original takes it for
    /// that.
    ///
    /// - Throws: ``ErrorCode/parseError`` if it isn't an object, or has no list of campaigns and no panic.
    init(_ json: FlagValue) throws(ExperimentationError) {
        guard let members = json.objectValue else {
            throw ExperimentationError(.parseError, "the Decision API's answer: an object is expected at the top")
        }
        isPanicking = members["panic"]?.boolValue ?? false
        guard let list = members["campaigns"]?.arrayValue ?? (isPanicking ? [] : nil) else {
            throw ExperimentationError(.parseError, "the Decision API's answer: campaigns must be a list")
        }
        campaigns = list.compactMap(\.objectValue).compactMap(Self.campaign)
        unreadable = list.count - campaigns.count
        settings = members["extras"]?.objectValue?["accountSettings"]?.objectValue.map(AccountSettings.init)
    }

    private static func campaign(_ members: [String: FlagValue]) -> Campaign? {
        guard let variation = members["variation"]?.objectValue else { return nil }
        var origin = FlagshipFlagMetadata(campaign: members)
        origin.variationGroupId = members.text("variationGroupId")
        origin.variationGroupName = members.text("variationGroupName")
        origin.add(variation: variation)
        return Campaign(origin: origin, flags: variation.flags)
    }
}

/// A campaign and a variation have the same members in an answer and in a bucketing file; their group hasn't.
extension FlagshipFlagMetadata {
    init(campaign: [String: FlagValue]) {
        campaignId = campaign.text("id")
        campaignName = campaign.text("name")
        campaignType = campaign.text("type")
        slug = campaign.text("slug")
    }

    mutating func add(variation: [String: FlagValue]) {
        variationId = variation.text("id")
        variationName = variation.text("name")
        isReference = variation["reference"]?.boolValue ?? false
    }
}

extension [String: FlagValue] {
    /// The string of a member, or an empty one.
    func text(_ name: String) -> String { self[name]?.stringValue ?? "" }

    /// The flags of a variation, sorted; without a type they don't count, as in the original.
    var flags: [(key: String, value: FlagValue)] {
        guard let modifications = self["modifications"]?.objectValue, let type = modifications["type"], type != .null
        else { return [] }
        return (modifications["value"]?.objectValue ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

/// The account's settings, as far as clients receive them.
struct AccountSettings: Sendable, Hashable {
    var enabled1V1T: Bool
    var troubleshooting: Troubleshooting?

    /// When, and for how many visitors, the vendor wants troubleshooting reports.
    struct Troubleshooting: Sendable, Hashable {
        var startDate: String
        var endDate: String
        var traffic: Int
    }

    init(_ members: [String: FlagValue]) {
        enabled1V1T = members["enabled1V1T"]?.boolValue ?? false
        troubleshooting = members["troubleshooting"]?.objectValue.flatMap { block in
            // As in the original, a block without a time zone is none, although nothing uses the zone.
            guard let start = block["startDate"]?.stringValue, let end = block["endDate"]?.stringValue,
                block["timezone"]?.stringValue != nil, let traffic = block["traffic"]?.intValue
            else { return nil }
            return Troubleshooting(startDate: start, endDate: end, traffic: traffic)
        }
    }
}
