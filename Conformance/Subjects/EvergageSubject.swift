import AdapterKit
import ConformanceKit
import ConformanceStages
import EvergageAdapter
import Experimentation
import Foundation
import MockVendors

/// Evergage: campaigns that answer events, a mirrored cart, no flags.
public struct EvergageSubject: ConformanceSubject {
    private let transport: (any HTTPTransport)?

    /// Creates the subject.
    ///
    /// - Parameter transport: Sends requests; the platform's own if `nil`.
    public init(transport: (any HTTPTransport)? = nil) { self.transport = transport }

    /// The vendor's name.
    public var name: String { "evergage" }

    /// The declared capabilities.
    public var capabilities: Set<Capability> {
        [.tracking, .commerce, .eventIDs, .campaigns, .controlGroups]
    }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        let noFlags = "Evergage has no flags: it answers events with campaigns"
        var reasons: [Capability: String] = [:]
        for capability: Capability in [
            .flags, .objectFlags, .flagMetadata, .targeting, .dateTargeting, .versionTargeting, .localEvaluation,
            .offlineStart, .experiments, .stickyAssignments, .layers, .holdouts, .overrides,
        ] { reasons[capability] = noFlags }
        reasons[.exposures] = "Evergage counts impressions of campaigns, not exposures of flags"
        reasons[.batching] = "Evergage takes one event a request"
        reasons[.identityLinking] = "Evergage takes both ids with every request; there is nothing to link"
        reasons[.consentSignal] = "Evergage has no word for consent"
        reasons[.killSwitch] = "Evergage's remote configuration isn't published, so it is off by default"
        return reasons
    }

    /// The fields that the Event API carries: an action has a name, but neither a value nor attributes.
    public var wireFields: Set<Received.Field> {
        [.userID, .anonymousID, .name, .orderID, .items, .eventID, .date]
    }

    /// Why the other fields aren't carried.
    public var wireReasons: [Received.Field: String] {
        let named = "An action of Evergage's Event API has a name"
        return [.value: "\(named), and no value", .attributes: "\(named), and nothing that an application adds"]
    }

    /// Where the adapter keeps Evergage's behavior instead of the neutral contract's.
    public var knownDeviations: [KnownDeviation] {
        let final =
            "Evergage takes one event a request, so a refusal is about that event, and the adapter takes it as final"
        return [KnownDeviation("outages/refused-for-a-while", reason: final)]
    }

    /// Starts a mock with a world.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await MockStage(EvergageMock(), wire: wire, world: world)
    }

    private static func provider(
        for server: MockServer,
        _ transport: (any HTTPTransport)?
    ) throws -> EvergageProvider {
        EvergageProvider(
            configuration: try EvergageConfiguration(
                account: "acme",
                dataset: "engage",
                endpoint: try Endpoint(server.url),
                application: "com.acme.shop",
                timeout: server.patience,
                pace: nil
            ),
            transport: transport
        )
    }

    private var wire: MockWire<EvergageMock> {
        let transport = transport
        return MockWire(
            operations: [.events: ["event", "ping"]],
            contentType: "application/json",
            failure: #"{"campaignResponses":[],"errorCode":3}"#,
            secrets: ["mock-secret"],
            load: { vendor, world in
                let (text, gaps) = try EvergageWorldTranslation.text(for: world)
                try await vendor.load(Data(text))
                return gaps
            },
            makeProvider: { server in try Self.provider(for: server, transport) },
            received: { vendor, journal in
                let exchanges = journal.filter { ["event", "ping"].contains($0.operation) && $0.hasReachedVendor }
                let campaigns = await vendor.campaignsByExperience
                return try await zip(vendor.received, exchanges).filter(\.0.isTaken).map { event, exchange in
                    try EvergageWorldTranslation.received(event, exchange: exchange.number, campaigns: campaigns)
                }
            }
        )
    }
}

extension JournalEntry {
    /// Whether the vendor saw the request before anything went wrong.
    fileprivate var hasReachedVendor: Bool {
        switch fault {
        case nil, .delay, .stall, .resetAfterApplying, .truncate, .wrongLength, .drip: true
        default: false
        }
    }
}

/// Translates neutral worlds for the mock, and what the mock accepted into neutral terms.
enum EvergageWorldTranslation {
    /// The vendor's names of the actions that trigger campaigns.
    private static let actions = [
        "viewItem": "View Item", "viewItemDetail": "View Item Detail", "viewCategory": "View Category",
        "viewTag": "View Tag", "addToCart": "Add To Cart", "removeFromCart": "Remove From Cart",
        "replaceCart": "View Cart", "purchase": "Purchase", "review": "Review", "share": "Share",
        "comment": "Comment", "favorite": "Favorite", "installed": "App Install", "sessionStarted": "App Launch",
        "pageView": "Page View",
    ]

    static func text(for world: World) throws -> ([UInt8], [WorldGap]) {
        var gaps: [WorldGap] = []
        if !world.flags.isEmpty { gaps.append(WorldGap("flags", "Evergage has no flags")) }
        if !world.experiments.isEmpty {
            gaps.append(WorldGap("experiments", "Evergage's experiments are its campaigns' own"))
        }
        if !world.holdouts.isEmpty { gaps.append(WorldGap("holdouts", "Evergage has no holdouts")) }
        var campaigns: [FlagValue] = []
        for campaign in world.campaigns {
            guard let action = actions[campaign.trigger] ?? campaign.triggerName else {
                gaps.append(
                    WorldGap("campaigns/\(campaign.id)", "Evergage can't answer every event of a type with a campaign")
                )
                continue
            }
            campaigns.append([
                "campaignId": .string(campaign.id),
                "campaignName": .string(campaign.name),
                "experienceId": .string(campaign.experience),
                "experienceName": .string(campaign.experience),
                "target": .string(campaign.target),
                "data": .object(campaign.content),
                "promotedItemKeys": .array(campaign.promotedItems.map { ["type": "p", "_id": .string($0)] }),
                "actions": .array([.string(action)]),
                "controlUserIds": .array(campaign.controlGroup.map(FlagValue.string)),
            ])
        }
        return (try JSON.encode(["campaigns": .array(campaigns), "options": ["strictTestAuth": true]]), gaps)
    }

    static func received(
        _ event: EvergageReceived,
        exchange: Int,
        campaigns: [String: String]
    ) throws -> Received {
        let json = try JSON.parse(event.text)
        let members = json.objectValue ?? [:]
        func member(_ path: String...) -> FlagValue? {
            path.reduce(FlagValue?.some(json)) { $0?.objectValue?[$1] }
        }
        var received = Received(type: "unknown", eventID: event.eventID, exchange: exchange)
        received.userID = member("user", "id")?.stringValue ?? member("userId")?.stringValue
        received.anonymousID = member("user", "anonId")?.stringValue ?? member(".anonId")?.stringValue
        received.date = member("source", "time")?.doubleValue.map { Date(timeIntervalSince1970: $0 / 1000) }
        if let stat = members["campaignStats"]?.arrayValue?.first?.objectValue {
            received.type =
                switch stat["stat"]?.stringValue {
                case "Impression": "campaignImpression"
                case "Dismissal": "campaignDismissal"
                default: "campaignClick"
                }
            received.campaign = stat["experienceId"]?.stringValue.flatMap { campaigns[$0] }
            return received
        }
        guard let action = members["action"]?.stringValue else { return received }
        let item = members["itemAction"]?.stringValue
        if let type = actions.first(where: { $0.value == item })?.key {
            received.type = type
        } else if member("flags", "pageView")?.boolValue == true {
            received.type = member("source", "pageType") == nil ? "pageView" : "screenView"
            received.name = (member("source", "pageType") ?? member("source", "url"))?.stringValue
        } else if let type = actions.first(where: { $0.value == action })?.key {
            received.type = type
        } else {
            received.type = "custom"
            received.name = action
        }
        received.orderID = member("order", "Product", "orderId")?.stringValue
        let lines =
            member("order", "Product", "lineItems")?.arrayValue ?? member("cart", "complete", "Product")?.arrayValue
            ?? member("cart", "singleLine", "Product").map { [$0] } ?? members["catalog"]?.objectValue.map {
                Array($0.values)
            }
            ?? []
        received.items = lines.compactMap { $0.objectValue?["_id"]?.stringValue }
        return received
    }
}
