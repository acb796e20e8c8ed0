/// An event as received.
public struct EvergageReceived: Sendable, Hashable {
    /// The path that it was sent to.
    public var route: String
    /// The data set.
    public var dataset: String
    /// `X-Event-Id`, if it was sent.
    public var eventID: String?
    /// The user's key at that moment: the named id, else the anonymous one.
    public var userKey: String?
    /// `action`, or the name of the interaction; `nil` for statistics and view time.
    public var action: String?
    /// The event as JSON with sorted keys.
    public var text: String
    /// Whether an event with this id was processed before.
    public var isRepetition: Bool
    /// Whether it was valid, so that it was processed, now or earlier.
    public var isTaken = true
    fileprivate var event: EvergageJSON
    fileprivate var headers: [String: EvergageJSON]
}

extension EvergageReceived {
    var json: EvergageJSON {
        [
            "route": .string(route), "dataset": .string(dataset), "event": event, "headers": .object(headers),
            "deduplicated": .bool(isRepetition), "userKey": userKey.map(EvergageJSON.string) ?? .null,
        ]
    }
}

/// The state that requests change.
struct EvergageState: Sendable {
    private struct Key: Hashable {
        var dataset: String
        var user: String
    }

    private(set) var received: [EvergageReceived] = []
    private var profiles: [Key: EvergageProfile] = [:]
    private var processed: Set<String> = []
    private var orderIDs: Set<[String]> = []

    func isProcessed(_ id: String) -> Bool { processed.contains(id) }
    mutating func setProcessed(_ id: String) { processed.insert(id) }

    mutating func log(
        _ json: EvergageJSON,
        request: MockRequest,
        dataset: String,
        authenticated: Bool,
        isRepetition: Bool
    ) {
        let user = json["user"]
        received.append(
            EvergageReceived(
                route: request.path,
                dataset: dataset,
                eventID: request.header("X-Event-Id"),
                userKey: user?["id"]?.text ?? json["userId"]?.text ?? user?["anonId"]?.text ?? json[".anonId"]?.text
                    ?? user?["anonymousId"]?.text,
                action: json["action"]?.text ?? json["interaction"]?["name"]?.text,
                text: json.description,
                isRepetition: isRepetition,
                event: json,
                // Recorded requests must not contain credentials.
                headers: Dictionary(
                    request.headers.filter { $0.name.lowercased() != "authorization" }
                        .map { ($0.name, EvergageJSON.string($0.value)) },
                    uniquingKeysWith: { first, _ in first }
                )
            )
        )
    }

    /// Marks the last event as rejected.
    mutating func refuseLast() {
        guard !received.isEmpty else { return }
        received[received.count - 1].isTaken = false
    }

    /// Applies an event to its user's profile.
    ///
    /// - Returns: The user's key.
    mutating func apply(
        _ event: EvergageEvent,
        dataset: String,
        defaultCurrency: String,
        declared: EvergageWorld.Declared?,
        receivedAt: Double
    ) -> String {
        let user = key(named: event.namedID, anonymous: event.anonymousID, dataset: dataset) ?? "attributes-only"
        var profile = profiles[Key(dataset: dataset, user: user)] ?? EvergageProfile()
        profile.update(event, declared: declared)
        if !event.flag("nonInteractive") { profile.interacted(at: event.time ?? receivedAt) }
        if event.itemAction == .purchase, let purchase = event.purchase {
            let isNew = purchase.orderID.map { orderIDs.insert([dataset, $0]).inserted } ?? true
            if isNew { profile.buy(purchase, defaultCurrency: defaultCurrency) }
        } else {
            profile.changeCart(event)
        }
        profiles[Key(dataset: dataset, user: user)] = profile
        return user
    }

    mutating func addViewTime(_ millis: Int, item: String, named: String?, anonymous: String?, dataset: String) -> Bool
    {
        guard let user = key(named: named, anonymous: anonymous, dataset: dataset) else { return false }
        profiles[Key(dataset: dataset, user: user), default: EvergageProfile()].viewTime[item, default: 0] += millis
        return true
    }

    mutating func addStats(_ stats: [EvergageEvent.Stat], named: String?, anonymous: String?, dataset: String) {
        guard let user = key(named: named, anonymous: anonymous, dataset: dataset) else { return }
        profiles[Key(dataset: dataset, user: user), default: EvergageProfile()].stats += stats
    }

    func profile(of user: String, dataset: String?) -> EvergageProfile? {
        if let dataset { return profiles[Key(dataset: dataset, user: user)] }
        return profiles.filter { $0.key.user == user }.min { $0.key.dataset < $1.key.dataset }?.value
    }

    /// The user's key; an anonymous profile moves to the named one when an event carries both.
    private mutating func key(named: String?, anonymous: String?, dataset: String) -> String? {
        if let named, let anonymous, named != anonymous,
            let before = profiles.removeValue(forKey: Key(dataset: dataset, user: anonymous))
        {
            profiles[Key(dataset: dataset, user: named), default: EvergageProfile()].absorb(before)
        }
        return named ?? anonymous
    }

    /// Returns the full type name for a code; names are returned unchanged.
    static func fullType(_ type: String) -> String {
        ["p": "Product", "a": "Article", "b": "Blog", "c": "Category", "t": "Tag", "P": "Promotion"][type] ?? type
    }
}

/// A fault of the vendor itself, in addition to the server's own fault script.
struct EvergageFault: Sendable, Hashable {
    var match: String
    var times: Int
    var delayMillis = 0
    var response: MockResponse?

    /// Parses `[{"match":"/api2/event","times":2,"status":503,"retryAfter":1}, {"errorCode":3}, {"delayMillis":500},
    /// {"rawBody":"<html>"}, {"dropConnection":true}]`.
    static func list(_ json: EvergageJSON) throws(MockWorldError) -> [EvergageFault] {
        guard let list = json.array else { throw MockWorldError("faults: expected a list") }
        var faults: [EvergageFault] = []
        for (index, one) in list.enumerated() {
            guard one.object != nil else { throw MockWorldError("faults[\(index)]: expected an object") }
            var fault = EvergageFault(match: one["match"]?.string ?? "/", times: one["times"]?.whole ?? 1)
            fault.delayMillis = min(max(one["delayMillis"]?.whole ?? 0, 0), 60_000)
            if one["dropConnection"]?.isTrue == true {
                // Dropped before the event is processed; `/_mock/script` has the fault that drops it afterwards.
                fault.response = MockResponse(status: 500, fault: .reset)
            } else if let code = one["errorCode"]?.whole {
                fault.response = .json(#"{"campaignResponses":[],"errorCode":\#(code)}"#)
            } else if let raw = one["rawBody"]?.string {
                fault.response = MockResponse(status: one["status"]?.whole ?? 200, type: "text/html", text: raw)
            } else if let status = one["status"]?.whole {
                var response = MockResponse.json(#"{"campaignResponses":[],"errorCode":5}"#, status: status)
                if let after = one["retryAfter"] { response.headers.append(.init("Retry-After", after.description)) }
                fault.response = response
            }
            faults.append(fault)
        }
        return faults
    }
}
