import AdapterKit
import Experimentation
import Foundation

/// A visitor's stored state, in the original SDK's format.
public struct FlagshipVisitorRecord: Sendable, Hashable {
    /// The visitor's id.
    public var visitorID: String
    /// The visitor's id from before signing in.
    public var anonymousID: String?
    /// Whether the visitor had consented.
    public var consent: Bool
    /// The visitor's context.
    public var context: [String: FlagValue]
    /// Variation ids by variation group.
    public var assignments: [String: String]
    /// The flags, each with its campaign, variation group and variation.
    public var flags: [String: (value: FlagValue, metadata: FlagshipFlagMetadata)]

    /// Compares the written forms.
    public static func == (one: Self, other: Self) -> Bool { one.json == other.json }
    /// Hashes the visitor's id.
    public func hash(into hasher: inout Hasher) { hasher.combine(visitorID) }

    /// Creates a record.
    public init(
        visitorID: String,
        anonymousID: String? = nil,
        consent: Bool = true,
        context: [String: FlagValue] = [:],
        assignments: [String: String] = [:],
        flags: [String: (value: FlagValue, metadata: FlagshipFlagMetadata)] = [:]
    ) {
        self.visitorID = visitorID
        self.anonymousID = anonymousID
        self.consent = consent
        self.context = context
        self.assignments = assignments
        self.flags = flags
    }

    /// Parses a record, of this SDK or of the SDKs for iOS, Python or TypeScript.
    ///
    /// - Throws: `ErrorCode.parseError` for anything else.
    public init(_ data: Data) throws(ExperimentationError) {
        let json = try JSON.parse(data)
        guard let data = json.objectValue?["data"]?.objectValue, let id = data["visitorId"]?.stringValue, !id.isEmpty
        else { throw ExperimentationError(.parseError, "this is no record of a visitor") }
        let history = data["assignationHistory"]?.objectValue ?? data["assignmentsHistory"]?.objectValue ?? [:]
        self.init(
            visitorID: id,
            anonymousID: data["anonymousId"]?.stringValue,
            consent: data["consent"]?.boolValue ?? true,
            context: data["context"]?.objectValue ?? [:],
            assignments: history.compactMapValues(\.stringValue)
        )
        for campaign in (data["campaigns"]?.arrayValue ?? []).compactMap(\.objectValue) {
            var metadata = FlagshipFlagMetadata(campaign)
            metadata.campaignType = campaign.text("type")
            for (key, value) in campaign["flags"]?.objectValue ?? [:] { flags[key] = (value, metadata) }
        }
    }

    /// The campaigns of the flags, sorted, each with its flags.
    private var decided: [DecidedCampaign] {
        let byCampaign = Dictionary(grouping: flags.sorted { $0.key < $1.key }, by: \.value.metadata)
        return byCampaign.sorted { $0.key.campaignId < $1.key.campaignId }.map { origin, flags in
            DecidedCampaign(origin: origin, flags: flags.map { ($0.key, $0.value.value) })
        }
    }

    var decisions: Decisions { decided.decisions }

    /// The campaigns in their written form.
    var campaigns: [FlagValue] {
        decided.map { campaign in
            var members = campaign.origin.toDictionary()
            members["type"] = members.removeValue(forKey: "campaignType")
            members["activated"] = false
            members["flags"] = .object(Dictionary(campaign.flags.map { ($0.key, $0.value) }) { $1 })
            return .object(members)
        }
    }

    /// The record as JSON, with sorted campaigns and names.
    public var json: Data {
        let record: FlagValue = [
            "version": 1,
            "data": [
                "visitorId": .string(visitorID), "anonymousId": anonymousID.map { .string($0) } ?? .null,
                "consent": .bool(consent), "context": .object(context),
                "assignationHistory": .object(assignments.mapValues { .string($0) }), "campaigns": .array(campaigns),
            ],
        ]
        return Data((try? JSON.encode(record, order: .sorted)) ?? [])
    }
}

/// An unsent hit, in the original SDK's format.
public struct FlagshipHitRecord: Sendable, Hashable {
    /// The visitor's id.
    public var visitorID: String
    /// The visitor's id from before signing in.
    public var anonymousID: String?
    /// The hit's type on the wire, or `ACTIVATE`.
    public var type: String
    /// When it was created.
    public var time: Date
    /// The body as it is sent; an exposure's record also has `internal_exposure_flag` and `internal_exposure_visitor`,
    /// JSON texts for notifying the application.
    public var content: [String: FlagValue]

    /// Creates a record.
    public init(visitorID: String, anonymousID: String?, type: String, time: Date, content: [String: FlagValue]) {
        self.visitorID = visitorID
        self.anonymousID = anonymousID
        self.type = type
        self.time = time
        self.content = content
    }

    /// Returns the time before which a hit is too old for the vendor.
    static func oldest(at now: Date) -> Date {
        now.addingTimeInterval(-(FlagshipConfiguration.oldestHit / .seconds(1)))
    }

    /// Whether it was created for an environment; a record without one counts as its own.
    func belongs(to environmentID: String) -> Bool { (content["cid"]?.stringValue ?? environmentID) == environmentID }

    /// Parses the value of one record, `{"version":1,"data":{…}}`.
    ///
    /// - Throws: `ErrorCode.parseError` for anything else.
    public init(_ json: FlagValue) throws(ExperimentationError) {
        guard let data = json.objectValue?["data"]?.objectValue, let content = data["content"]?.objectValue,
            let time = data["time"]?.doubleValue, time.isFinite
        else { throw ExperimentationError(.parseError, "this is no record of a hit") }
        self.init(
            visitorID: data.text("visitorId"),
            anonymousID: data["anonymousId"]?.stringValue,
            type: data["type"]?.stringValue ?? content.text("t"),
            time: Date(timeIntervalSince1970: time),
            content: content
        )
    }

    /// The record's value.
    public var json: FlagValue {
        let size = (try? JSON.encode(.object(content)))?.count ?? 0
        return [
            "version": 1,
            "data": [
                "visitorId": .string(visitorID), "anonymousId": anonymousID.map { .string($0) } ?? .null,
                "type": .string(type), "time": .double(time.timeIntervalSince1970), "content": .object(content),
                "numberOfBytes": .int(size),
            ],
        ]
    }
}
