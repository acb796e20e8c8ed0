import Experimentation

/// The vendor's words on the wire that are the same in every request.
enum FlagshipWire {
    /// The SDK that this adapter replaces: the vendor's server tells SDKs apart by it.
    static let sdkClient = "iOS"
    /// The version of that SDK.
    static let sdkVersion = "4.0.3"
    /// Where the Decision API answers, its version included.
    static let decisionURL = "https://decision.flagship.io/v2/"
    /// The source of every hit.
    static let dataSource = "APP"

    /// The largest number of exposures in one request.
    static let largestActivation = 100
}

/// An answer to the question for campaigns.
///
/// Read member by member: what is missing or of the wrong type takes its default, but for the list of campaigns.
struct CampaignsAnswer: Sendable {
    struct Campaign: Sendable {
        var origin: FlagshipOrigin
        var flags: [(key: String, value: FlagValue)]
    }

    var isPanicking: Bool
    var campaigns: [Campaign]
    var settings: AccountSettings?

    /// Reads an answer.
    ///
    /// The vendor sends the list of campaigns with every answer. An answer without one comes from something on the way, and isn't an
    /// answer without campaigns, which would take away all users' flags; the original takes it for one.
    ///
    /// - Throws: ``ErrorCode/parseError`` when it isn't an object, or has no list of campaigns and no panic.
    init(_ json: FlagValue) throws(ExperimentationError) {
        guard let members = json.objectValue else {
            throw ExperimentationError(.parseError, "the Decision API's answer: an object is expected at the top")
        }
        isPanicking = members["panic"]?.boolValue ?? false
        let list = members["campaigns"]?.arrayValue
        guard isPanicking || list != nil else {
            throw ExperimentationError(.parseError, "the Decision API's answer: campaigns must be a list")
        }
        campaigns = (list ?? []).compactMap(\.objectValue).compactMap(Self.campaign)
        settings = members["extras"]?.objectValue?["accountSettings"]?.objectValue.map(AccountSettings.init)
    }

    private static func campaign(_ members: [String: FlagValue]) -> Campaign? {
        guard let variation = members["variation"]?.objectValue else { return nil }
        let modifications = variation["modifications"]?.objectValue
        // Without a type the flags don't count, as in the original.
        let hasType = modifications?["type"].map { $0 != .null } ?? false
        return Campaign(
            origin: FlagshipOrigin(
                campaignID: members.text("id"),
                campaignName: members.text("name"),
                variationGroupID: members.text("variationGroupId"),
                variationGroupName: members.text("variationGroupName"),
                variationID: variation.text("id"),
                variationName: variation.text("name"),
                isReference: variation["reference"]?.boolValue ?? false,
                campaignType: members.text("type"),
                slug: members.text("slug")
            ),
            flags: (hasType ? modifications?["value"]?.objectValue ?? [:] : [:])
                .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
    }
}

/// What the account is set to, as far as a client hears of it.
struct AccountSettings: Sendable, Hashable {
    var enabledXPC: Bool
    var enabled1V1T: Bool
    var troubleshooting: Troubleshooting?

    /// When, and for how many visitors, the vendor wants reports of what goes on.
    struct Troubleshooting: Sendable, Hashable {
        var startDate: String
        var endDate: String
        var timezone: String
        var traffic: Int
    }

    init(_ members: [String: FlagValue]) {
        enabledXPC = members["enabledXPC"]?.boolValue ?? false
        enabled1V1T = members["enabled1V1T"]?.boolValue ?? false
        troubleshooting = members["troubleshooting"]?.objectValue.flatMap { block in
            guard let start = block["startDate"]?.stringValue, let end = block["endDate"]?.stringValue,
                let timezone = block["timezone"]?.stringValue, let traffic = block["traffic"]?.intValue
            else { return nil }
            return Troubleshooting(startDate: start, endDate: end, timezone: timezone, traffic: traffic)
        }
    }
}

/// The campaign, the group and the variation that a value comes from.
struct FlagshipOrigin: Sendable, Hashable {
    var campaignID: String
    var campaignName: String
    var variationGroupID: String
    var variationGroupName: String
    var variationID: String
    var variationName: String
    var isReference: Bool
    var campaignType: String
    var slug: String
}
