import AdapterKit
import Experimentation

/// The answer to an event, parsed member by member: a broken one doesn't hide the others.
struct EvergageAnswer: Sendable, Hashable {
    var errorCode: Int
    var campaignResponses: [CampaignResponse]

    /// Parses an answer; `nil` if it isn't an object.
    init?(_ json: FlagValue) {
        guard let members = json.objectValue else { return nil }
        let code = members["errorCode"]
        // An error stays an error, even if something on the way has turned the number into a string.
        errorCode = code?.intValue ?? code?.stringValue.flatMap { Int($0) } ?? 0
        campaignResponses = members["campaignResponses"]?.arrayValue?.compactMap(CampaignResponse.init) ?? []
    }

    struct CampaignResponse: Sendable, Hashable {
        var campaignID: String
        var campaignName: String
        var experienceID: String
        var experienceName: String
        var state: String
        var userGroup: String?
        /// The readable messages; `nil` if there were none at all, in which case alone the payload counts.
        var messages: [Message]?
        var payload: [String: FlagValue]?

        fileprivate init?(_ json: FlagValue) {
            guard let members = json.objectValue, let experience = members["experienceId"]?.stringValue?.unlessBlank
            else { return nil }
            experienceID = experience
            experienceName = members["experienceName"]?.stringValue ?? ""
            campaignID = members["campaignId"]?.stringValue ?? ""
            campaignName = members["campaignName"]?.stringValue ?? ""
            state = members["state"]?.stringValue ?? "Published"
            userGroup = members["userGroup"]?.stringValue
            let all = members["serverSideMessages"]?.arrayValue ?? []
            messages = all.isEmpty ? nil : all.compactMap(Message.init)
            payload = members["payload"]?.objectValue
        }
    }

    struct Message: Sendable, Hashable {
        var id: String
        var targetName: String
        var dataMap: [String: FlagValue]
        var promotedItemKeys: [ItemKey]
    }

    struct ItemKey: Sendable, Hashable {
        var type: String
        var id: String
        var tagType: String?

        fileprivate init?(_ json: FlagValue) {
            guard let members = json.objectValue, let type = members["type"]?.stringValue,
                let id = members["_id"]?.stringValue?.unlessBlank
            else { return nil }
            self.type = type
            self.id = id
            tagType = members["tagType"]?.stringValue
        }
    }
}

extension EvergageAnswer.Message {
    fileprivate init?(_ json: FlagValue) {
        guard let members = json.objectValue, let target = members["targetName"]?.stringValue?.unlessBlank else {
            return nil
        }
        id = members["id"]?.stringValue ?? ""
        targetName = target
        // The member `data` is always the text "{}".
        dataMap = members[object: "dataMap"]
        promotedItemKeys = members["promotedItemKeys"]?.arrayValue?.compactMap(EvergageAnswer.ItemKey.init) ?? []
    }
}

/// The vendor's settings for the application, for events that wait for them.
struct EvergageRemoteConfiguration: Sendable, Hashable {
    var isEnabled: Bool
    var lifetime: Duration = .seconds(3600)
    var userIdle: Duration = .seconds(60)
    var viewTimePing = portions.upperBound
    var screenVisibleDeadline: Duration = .seconds(30)

    /// The minimum and maximum of a view time that is reported on its own.
    static let portions: ClosedRange<Duration> = .seconds(2)...(.seconds(60))

    init(isEnabled: Bool = true) { self.isEnabled = isEnabled }

    /// Parses a configuration; missing or meaningless members keep their defaults.
    init(_ members: [String: FlagValue]) {
        isEnabled = members["enabled"]?.boolValue ?? true
        func duration(_ name: String, _ fallback: Duration) -> Duration {
            guard let milliseconds = members[name]?.intValue, (1...86_400_000_000).contains(milliseconds) else {
                return fallback
            }
            return .milliseconds(milliseconds)
        }
        // With a shorter lifetime, each event and each check of the client would ask again.
        lifetime = max(duration("ttlMillis", lifetime), .seconds(1))
        userIdle = duration("userIdleMillis", userIdle)
        // Shorter times aren't reported on their own, and longer ones aren't reported at once.
        let ping = duration("viewTimePingMillis", viewTimePing)
        viewTimePing = min(max(ping, Self.portions.lowerBound), Self.portions.upperBound)
        screenVisibleDeadline = duration("screenVisibleDeadlineMillis", screenVisibleDeadline)
    }
}
