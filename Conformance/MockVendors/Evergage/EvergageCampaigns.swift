import Foundation

/// A campaign of the back end: its audience, its triggers and its content.
struct EvergageCampaign: Sendable, Hashable {
    enum State: String, Sendable { case published = "Published", testing = "Testing", disabled = "Disabled" }
    enum Shape: String, Sendable { case message, payload }

    var campaignID: String
    var campaignName: String
    var experienceID: String
    var experienceName: String
    var target: String
    var data: [String: EvergageJSON]
    var promotedItemKeys: [EvergageJSON]?
    /// The actions that trigger it; empty for every action.
    var actions: [String]
    var channel: String?
    var applications: [String]
    /// The content zones of which an event must name one; empty for any event.
    var contentZones: [String]
    /// The users it is meant for; empty for all.
    var userIDs: [String]
    /// The users who are in the control group regardless of the percentage.
    var controlUserIDs: [String]
    var controlPercent: Int
    var state: State
    var shape: Shape

    /// Parses a campaign of a world.
    ///
    /// - Parameters:
    ///   - json: The object.
    ///   - place: Its path in the world, for the message.
    /// - Throws: When something is missing or of the wrong type.
    init(_ json: EvergageJSON, at place: String) throws(MockWorldError) {
        guard json.object != nil else { throw MockWorldError("\(place): expected an object") }
        guard let id = json["campaignId"]?.text else { throw MockWorldError("\(place).campaignId: expected a text") }
        guard let experience = json["experienceId"]?.text else {
            throw MockWorldError("\(place).experienceId: expected a text")
        }
        campaignID = id
        experienceID = experience
        campaignName = json["campaignName"]?.string ?? id
        experienceName = json["experienceName"]?.string ?? experience
        target = json["target"]?.string ?? ""
        data = json["data"]?.object ?? [:]
        promotedItemKeys = json["promotedItemKeys"]?.array
        actions = json["actions"]?.array?.compactMap(\.string) ?? []
        channel = json["channel"]?.text
        applications = json["applications"]?.array?.compactMap(\.string) ?? []
        contentZones = json["contentZones"]?.array?.compactMap(\.string) ?? []
        userIDs = json["userIds"]?.array?.compactMap(\.string) ?? []
        controlUserIDs = json["controlUserIds"]?.array?.compactMap(\.string) ?? []
        let percent = json["controlPercent"] ?? 0
        guard let percent = percent.whole, (0...100).contains(percent) else {
            throw MockWorldError("\(place).controlPercent: expected a whole number from 0 to 100")
        }
        controlPercent = percent
        guard let state = State(rawValue: json["state"]?.string ?? State.published.rawValue) else {
            throw MockWorldError("\(place).state: expected Published, Testing or Disabled")
        }
        self.state = state
        guard let shape = Shape(rawValue: json["shape"]?.string ?? Shape.message.rawValue) else {
            throw MockWorldError("\(place).shape: expected message or payload")
        }
        self.shape = shape
    }

    /// Whether a user is in the control group; always the same for the same user.
    func isControl(userKey: String) -> Bool {
        controlUserIDs.contains(userKey)
            || Int(Self.crc32("\(userKey):\(campaignID)".utf8) % 100) < controlPercent
    }

    /// Whether it answers this event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - isAuthenticated: Whether it came over the authenticated route, which campaigns for the channel `Server`
    ///     require.
    ///   - mayForce: Whether a test may name experiences.
    ///   - channelIfNone: The channel of a campaign that names none; `nil` for any.
    /// - Returns: Whether it does.
    func answers(
        _ event: EvergageEvent,
        isAuthenticated: Bool,
        mayForce: Bool,
        channelIfNone: String? = nil
    ) -> Bool {
        let forced = event.testMessages.map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
        if let forced, forced != ["true"], mayForce, forced.contains(experienceID) { return true }
        switch state {
        case .published: break
        case .testing: guard forced == ["true"] else { return false }
        case .disabled: return false
        }
        if !actions.isEmpty, !actions.contains(event.action ?? "") { return false }
        if let channel = (channel ?? channelIfNone)?.lowercased() {
            guard channel == event.channel.lowercased(), isAuthenticated || channel != "server" else { return false }
        }
        if !applications.isEmpty, !applications.contains(event.application) { return false }
        if !contentZones.isEmpty, event.contentZones.isDisjoint(with: contentZones) { return false }
        if !userIDs.isEmpty, !userIDs.contains(event.namedID ?? event.anonymousID ?? "") { return false }
        return true
    }

    /// The campaign's entry in `campaignResponses`.
    func response(userKey: String, withMessages: Bool) -> EvergageJSON {
        let group: EvergageJSON = isControl(userKey: userKey) ? "Control" : "Default"
        var result: [String: EvergageJSON] = [
            "type": "c", "campaignId": .string(campaignID), "campaignName": .string(campaignName),
            "campaignType": "ServerSide", "experienceId": .string(experienceID),
            "experienceName": .string(experienceName), "state": .string(state.rawValue), "userGroup": group,
            "displayMode": "Personalized", "messages": [], "pageChanges": [], "templateNames": [],
            "serverSideMessages": [], "payload": [:],
        ]
        switch shape {
        case .message where withMessages:
            var message: [String: EvergageJSON] = [
                "type": "evg_md", "id": .string("\(campaignID)-\(experienceID)"), "data": "{}",
                "targetName": .string(target), "containsDynamicContent": false,
                "campaignState": .string(state.rawValue), "dataMap": .object(data),
            ]
            message["promotedItemKeys"] = promotedItemKeys.map(EvergageJSON.array)
            result["serverSideMessages"] = .array([.object(message)])
        case .message: break
        case .payload:
            var payload = data
            payload["campaign"] = .string(campaignID)
            payload["experience"] = .string(experienceID)
            payload["userGroup"] = group
            if !target.isEmpty { payload["contentZone"] = .string(target) }
            result["payload"] = .object(payload)
        }
        return .object(result)
    }

    /// CRC-32 as defined by IEEE 802.3.
    static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
