import AdapterKit
import Experimentation

enum FlagshipWire {
    /// The SDK that this adapter replaces, by which the vendor's server distinguishes SDKs.
    static let sdkClient = "iOS"
    static let sdkVersion = "4.0.3"
    /// The address of the Decision API in the vendor's notation, with a trailing slash.
    static let decisionURL = "https://decision.flagship.io/v2/"
    static let dataSource = "APP"

    /// The largest number of exposures in one request.
    static let largestActivation = 100
}

/// An answer of the Decision API, or a bucketing file.
///
/// Read member by member, as in the original: a missing member, or one of the wrong type, takes its default, and the
/// rest still counts. The list of campaigns is an exception, because the vendor sends it with every answer. An answer
/// without the list comes from something in between, and must not count as one without campaigns, which would remove
/// all users' flags; the original makes that mistake.
struct CampaignsDocument: Sendable {
    var isPanicking: Bool
    var campaigns: [FlagValue]
    var settings: AccountSettings?

    /// Parses a document.
    ///
    /// - Throws: ``ErrorCode/parseError`` if it isn't an object, or has neither a list of campaigns nor a panic.
    init(_ json: FlagValue) throws(ExperimentationError) {
        guard let members = json.objectValue else {
            throw ExperimentationError(.parseError, "an object is expected at the top")
        }
        isPanicking = members["panic"]?.boolValue ?? false
        guard let list = members["campaigns"]?.arrayValue ?? (isPanicking ? [] : nil) else {
            throw ExperimentationError(.parseError, "'campaigns' must be a list")
        }
        campaigns = list
        let extras = members["extras"]?.objectValue ?? members
        settings = extras["accountSettings"]?.objectValue.map(AccountSettings.init)
    }

    /// Parses a document; errors contain its name.
    init(_ bytes: [UInt8], named name: String) throws(ExperimentationError) {
        do throws(ExperimentationError) {
            self = try Self(try JSON.parse(bytes))
        } catch {
            throw error.about(name)
        }
    }
}

/// A campaign as decided for a visitor.
struct DecidedCampaign: Sendable {
    /// The campaign, the group and the variation.
    var origin: FlagshipFlagMetadata
    var flags: [(key: String, value: FlagValue)]
}

extension DecidedCampaign {
    /// Reads a campaign of an answer; `nil` without a variation, which the vendor's server never sends.
    init?(_ json: FlagValue) {
        guard let members = json.objectValue, let variation = members["variation"]?.objectValue else { return nil }
        origin = FlagshipFlagMetadata(campaign: members)
        origin.variationGroupId = members.text("variationGroupId")
        origin.variationGroupName = members.text("variationGroupName")
        origin.add(variation: variation)
        flags = variation.flags
    }
}

/// A campaign and a variation have the same members in an answer and in a bucketing file; their group doesn't.
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

    /// The flags of a variation, sorted; flags without a type don't count, as in the original.
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
            // As in the original, a block without a time zone counts as missing, although nothing uses the zone.
            guard let start = block["startDate"]?.stringValue, let end = block["endDate"]?.stringValue,
                block["timezone"]?.stringValue != nil, let traffic = block["traffic"]?.intValue
            else { return nil }
            return Troubleshooting(startDate: start, endDate: end, traffic: traffic)
        }
    }
}
