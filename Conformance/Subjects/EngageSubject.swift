import AdapterKit
import ConformanceKit
import ConformanceStages
import EngageAdapter
import Experimentation
import Foundation
import MockVendors

/// Silverpop Engage as a subject: events and identities, no decisions.
public struct EngageSubject: ConformanceSubject {
    private let transport: (any HTTPTransport)?

    /// Creates the subject.
    ///
    /// - Parameter transport: Sends requests; the platform's own if `nil`.
    public init(transport: (any HTTPTransport)? = nil) { self.transport = transport }

    /// The vendor's name.
    public var name: String { "engage" }

    /// The declared capabilities.
    public var capabilities: Set<Capability> { [.tracking, .batching, .identityLinking] }

    /// Why the other capabilities are missing.
    public var reasons: [Capability: String] {
        var reasons: [Capability: String] = [
            .exposures: "Engage has no experiments, and so nothing that could be seen",
            .commerce: "Engage has named events, and no shape of its own for items, carts and orders",
            .eventIDs: "Engage's behaviours have no id on the wire; a repetition shows by code, time and attributes",
            .campaigns: "Engage's campaigns are names that come with links and notifications, not answers to events",
            .consentSignal: "Engage has no word for consent; an opt-out is sent only if the application asks for it",
            .killSwitch: "Engage has no kill switch",
            .offlineStart: "Engage has no decisions that could be kept",
        ]
        let flags: [Capability] = [
            .flags, .objectFlags, .flagMetadata, .targeting, .dateTargeting, .versionTargeting, .localEvaluation,
        ]
        for capability in flags { reasons[capability] = "Engage has no flags" }
        let experiments: [Capability] = [
            .experiments, .stickyAssignments, .layers, .holdouts, .controlGroups, .overrides,
        ]
        for capability in experiments { reasons[capability] = "Engage has no experiments" }
        return reasons
    }

    /// The fields that its wire carries.
    public var wireFields: Set<Received.Field> { [.userID, .anonymousID, .name, .value, .attributes, .date] }

    /// Where the adapter keeps Engage's behavior instead of the neutral contract's.
    public var knownDeviations: [KnownDeviation] {
        let texts = "The values of a behaviour are texts: a list is joined, null and objects are left out"
        return [KnownDeviation("events/attributes-with-parts", reason: texts)]
    }

    /// Starts a mock.
    public func open(_ world: World) async throws -> any SubjectStage {
        try await MockStage(EngageMock(), wire: wire, world: world)
    }

    private static let identityOperations = [
        "AddRecipient", "UpdateRecipient", "SelectRecipientData", "InsertUpdateRelationalTable", "XMLAPI",
    ]

    private var wire: MockWire<EngageMock> {
        let transport = transport
        return MockWire(
            operations: [.events: ["events"], .identity: Self.identityOperations, .authentication: ["token"]],
            contentType: "application/json",
            failure: #"{"error":"server_error"}"#,
            secrets: ["conformance-secret", "conformance-refresh", Self.accessTokenPrefix],
            load: { mock, world in
                try await mock.load(Data(Self.vendorWorld.utf8))
                var gaps: [WorldGap] = []
                if !world.flags.isEmpty { gaps.append(WorldGap("flags", "Engage has no flags")) }
                if !world.experiments.isEmpty { gaps.append(WorldGap("experiments", "Engage has no experiments")) }
                if !world.holdouts.isEmpty { gaps.append(WorldGap("holdouts", "Engage has no experiments")) }
                if !world.campaigns.isEmpty { gaps.append(WorldGap("campaigns", "Engage answers no events")) }
                return gaps
            },
            makeProvider: { server in
                EngageProvider(configuration: try Self.configuration(of: server), transport: transport)
            },
            received: { mock, journal in
                EngageTelling(journal: journal).received(try await EngageTelling.picture(of: mock))
            },
            // The suite's credentials are words that are easy to find in a leak; `xp mock` prints the documented ones.
            prepareToServe: { mock in try await mock.load(EngageMock.standardWorld) }
        )
    }

    private static func configuration(of server: MockServer) throws -> EngageConfiguration {
        var configuration = try EngageConfiguration(
            host: server.url,
            credentials: .init(
                clientID: "client",
                clientSecret: "conformance-secret",
                refreshToken: "conformance-refresh"
            ),
            listID: "23949"
        )
        configuration.networking.timeout = server.patience
        configuration.networking.patience = .seconds(2)
        configuration.networking.firstBackoff = .milliseconds(10)
        configuration.networking.longestBackoff = .milliseconds(50)
        return configuration
    }

    /// The prefix of every access token that the mock issues.
    private static let accessTokenPrefix = "t0k3n"

    /// The vendor's initial state: a flexible list and the audit table.
    private static let vendorWorld = """
        {"credentials":{"clientID":"client","clientSecret":"conformance-secret","refreshToken":"conformance-refresh"},
         "settings":{"strictBehaviors":true,"accessTokenPrefix":"\(accessTokenPrefix)"},
         "lists":[{"id":23949,"name":"Shop","columns":[{"name":"Email"},{"name":"Mobile User Id"},
           {"name":"Merged Recipient Id"},{"name":"Merged Date"},{"name":"facebook_id"},{"name":"twitter_id"},{"name":"email"}]}],
         "tables":[{"id":29392,"name":"Audit","keys":["Audit Record Id"],"columns":[{"name":"Audit Record Id"},
           {"name":"Old Recipient Id"},{"name":"New Recipient Id"},{"name":"Create Date","type":3}]}]}
        """
}

/// Translates what the mock accepted into neutral terms.
private struct EngageTelling {
    struct Behavior: Decodable {
        struct Attribute: Decodable {
            var name: String
            var value: String
        }
        var code: String
        var timestamp: String
        var attributes: [Attribute]
        var request: Int
    }

    /// What the vendor finds wrong with a behavior that it has taken.
    struct Flaw: Decodable {
        var request: Int
        var index: Int
        var description: String
    }

    struct Picture: Decodable {
        var taken: [Behavior] = []
        var flaws: [Flaw] = []
    }

    let journal: [JournalEntry]

    static func picture(of mock: EngageMock) async throws -> Picture {
        guard let answer = await mock.control(MockRequest(method: "GET", path: "/behaviors")) else { return Picture() }
        return try JSONDecoder().decode(Picture.self, from: Data(answer.body))
    }

    func received(_ picture: Picture) -> [Received] {
        // Behaviors record the index of their submission; requests that a fault kept from the vendor aren't counted.
        let submissions = journal.filter { $0.operation == "events" && Self.reachedVendor($0.fault) }
        var counts: [Int: Int] = [:]
        var all: [Received] = picture.taken.map { behavior in
            let place = behavior.request - 1
            let exchange = submissions.indices.contains(place) ? submissions[place].number : 0
            let index = counts[behavior.request, default: 0]
            counts[behavior.request] = index + 1
            let flaws = picture.flaws.filter { $0.request == behavior.request && $0.index == index }
            return flaws.isEmpty ? event(behavior, exchange: exchange) : unknown(flaws, exchange: exchange)
        }
        all += recipients()
        return all.enumerated().sorted { ($0.element.exchange, $0.offset) < ($1.element.exchange, $1.offset) }.map(
            \.element
        )
    }

    private static func reachedVendor(_ fault: Fault?) -> Bool {
        switch fault {
        case nil, .delay, .stall, .resetAfterApplying, .truncate, .wrongLength, .drip: true
        default: false
        }
    }

    private static let types = [
        "12": "installed", "13": "sessionStarted", "14": "sessionEnded", "15": "goalAbandoned", "16": "goalCompleted",
        "17": "custom", "48": "notificationReceived", "49": "notificationOpened",
    ]

    private static let automatic: Set<String> = [
        "Device Name", "Device Version", "OS Name", "OS Version", "App Name", "App Version", "Device Id",
        "Primary User Id", "Anonymous Id", "Recipient Id", "Campaign Name", "Last Campaign", "Event Name", "Goal Name",
        "Value", "Session Duration",
    ]

    private func event(_ behavior: Behavior, exchange: Int) -> Received {
        let values = Dictionary(behavior.attributes.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        var attributes: [String: FlagValue] = [:]
        for (name, value) in values where !Self.automatic.contains(name) { attributes[name] = Self.typed(value) }
        return Received(
            type: Self.types[behavior.code] ?? "unknown",
            userID: values["Primary User Id"],
            anonymousID: values["Anonymous Id"].flatMap { $0.isEmpty ? nil : $0 },
            name: values["Event Name"] ?? values["Goal Name"],
            value: (values["Value"] ?? values["Session Duration"]).flatMap(Double.init),
            attributes: attributes,
            date: try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(behavior.timestamp),
            exchange: exchange
        )
    }

    /// A behavior that the vendor later reports as an error: none of its contents counts as received.
    private func unknown(_ flaws: [Flaw], exchange: Int) -> Received {
        let texts = flaws.map { FlagValue.string($0.description) }
        return Received(type: "unknown", attributes: ["flaws": .array(texts)], exchange: exchange)
    }

    /// The wire carries only text; a text that parses as a number or Boolean is taken for one.
    private static func typed(_ text: String) -> FlagValue {
        if let flag = Bool(text) { return .bool(flag) }
        if let number = Int(text) { return .int(number) }
        return Double(text).map(FlagValue.double) ?? .string(text)
    }

    /// Tracks which recipient has which mobile user id, and reports each change.
    private func recipients() -> [Received] {
        var bearers: [String: String] = [:]
        var told: [Received] = []
        for entry in journal where Self.reachedVendor(entry.fault) {
            guard ["AddRecipient", "UpdateRecipient"].contains(entry.operation),
                let form = FormEncoding.decode(entry.request.text).first(where: { $0.name == "xml" })?.value,
                let call = try? XMLReader.parse(form)["Body"]?.children.first,
                let answer = entry.response.flatMap({ try? XMLReader.parse($0.text) })
            else { continue }
            let id = answer.at("Body", "RESULT", "RecipientId")?.text ?? call["RECIPIENT_ID"]?.text ?? ""
            let columns = Dictionary(
                call.all("COLUMN").map { ($0["NAME"]?.text ?? "", $0["VALUE"]?.text ?? "") },
                uniquingKeysWith: { $1 }
            )
            let before = bearers[id]
            if let merged = columns["Merged Recipient Id"], let into = bearers[merged] {
                told.append(Received(type: "identity", userID: into, anonymousID: before, exchange: entry.number))
            } else if let bearer = columns["Mobile User Id"], !bearer.isEmpty, bearer != before {
                told.append(Received(type: "identity", userID: bearer, anonymousID: before, exchange: entry.number))
            }
            if let bearer = columns["Mobile User Id"] { bearers[id] = bearer.isEmpty ? nil : bearer }
        }
        return told
    }
}

extension MockResponse {
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }
}
