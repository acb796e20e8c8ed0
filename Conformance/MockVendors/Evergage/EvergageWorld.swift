/// The initial content of the vendor's back end.
///
/// A JSON object whose members are all optional:
///
/// ```json
/// {"datasets": ["engage", "test"],
///  "keys": [{"key": "mock-key", "secret": "mock-secret", "canSendEvents": true}],
///  "options": {"strictTestAuth": false, "strictChannels": false, "defaultCurrency": "USD",
///              "pipelineIdentity": false, "busy": false, "encryptedIds": false, "strictItems": true},
///  "attributes": {"user": ["tier"], "account": ["size"]},
///  "applications": {"com.acme.shop": {"enabled": true, "ttlMillis": 3600000}},
///  "campaigns": [{"campaignId": "c9", "campaignName": "Home hero", "experienceId": "xp7Qa",
///                 "experienceName": "A", "target": "featuredProduct", "data": {"name": "cameras"},
///                 "promotedItemKeys": [{"type": "p", "_id": "sku-11"}], "actions": ["View Item"],
///                 "channel": "MobileApp", "applications": ["com.acme.shop"], "contentZones": ["home"],
///                 "userIds": ["u-77"], "controlUserIds": ["u-2"], "controlPercent": 0, "state": "Published", "shape": "message"}]}
/// ```
///
/// Without `applications`, every application is known and enabled; with it, others get 404. Without `attributes`, all
/// attributes are declared; with it, others are dropped. An empty `actions`, `applications`, `contentZones` or
/// `userIds` matches everything. `controlPercent` of the users are in the control group, by the CRC-32 of the user's
/// key, a colon and the campaign's id, in addition to `controlUserIds`. `shape` says whether the campaign is sent as a
/// server-side message or as a template's payload.
struct EvergageWorld: Sendable, Hashable {
    struct Key: Sendable, Hashable {
        var key: String
        var secret: String
        var canSendEvents: Bool
    }
    /// The attributes that a data set declares.
    struct Declared: Sendable, Hashable {
        var user: Set<String> = []
        var account: Set<String> = []
    }
    struct Options: Sendable, Hashable {
        var strictTestAuth = false
        /// Whether messages are only sent on the channel `Server`, which is then also the channel of campaigns without
        /// one.
        var strictChannels = false
        /// Whether an item action without its item, line, cart or order is rejected.
        var strictItems = true
        var defaultCurrency = "USD"
        var pipelineIdentity = false
        var busy = false
        /// Whether a user id must be encrypted.
        var encryptedIds = false
    }

    var datasets = ["engage", "test"]
    var keys = [Key(key: "mock-key", secret: "mock-secret", canSendEvents: true)]
    var options = Options()
    /// The configuration by application; `nil` if all are known.
    var applications: [String: EvergageJSON]?
    var campaigns: [EvergageCampaign] = []
    /// The attributes that are stored; `nil` for all.
    var declared: Declared?

    init() {}

    init(_ json: EvergageJSON) throws(MockWorldError) {
        guard let members = json.object else { throw MockWorldError("the world: expected a JSON object") }
        let known = ["datasets", "keys", "options", "applications", "campaigns", "attributes"]
        if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw MockWorldError("\(unknown): unknown; known are \(known.joined(separator: ", "))")
        }
        if let datasets = members["datasets"] { self.datasets = try Self.datasets(datasets) }
        if let keys = members["keys"] { self.keys = try Self.keys(keys) }
        if let options = members["options"] { try self.options.update(options) }
        if let applications = members["applications"] {
            guard let object = applications.object else { throw MockWorldError("applications: expected an object") }
            self.applications = object
        }
        if let campaigns = members["campaigns"] { self.campaigns = try Self.campaigns(campaigns) }
        if let attributes = members["attributes"] { declared = try Self.declared(attributes) }
    }

    static func datasets(_ json: EvergageJSON) throws(MockWorldError) -> [String] {
        guard let names = json.array?.compactMap(\.text), names.count == json.array?.count else {
            throw MockWorldError("datasets: expected a list of names")
        }
        return names
    }

    static func declared(_ json: EvergageJSON) throws(MockWorldError) -> Declared {
        guard let members = json.object else { throw MockWorldError("attributes: expected an object") }
        func names(_ member: String) throws(MockWorldError) -> Set<String> {
            guard let value = members[member] else { return [] }
            guard let names = value.array?.compactMap(\.text), names.count == value.array?.count else {
                throw MockWorldError("attributes.\(member): expected a list of names")
            }
            return Set(names)
        }
        return Declared(user: try names("user"), account: try names("account"))
    }

    static func keys(_ json: EvergageJSON) throws(MockWorldError) -> [Key] {
        guard let list = json.array else { throw MockWorldError("keys: expected a list") }
        var keys: [Key] = []
        for (index, one) in list.enumerated() {
            guard let key = one["key"]?.text, let secret = one["secret"]?.text else {
                throw MockWorldError("keys[\(index)]: expected key and secret")
            }
            keys.append(Key(key: key, secret: secret, canSendEvents: one["canSendEvents"]?.bool ?? true))
        }
        return keys
    }

    static func campaigns(_ json: EvergageJSON) throws(MockWorldError) -> [EvergageCampaign] {
        guard let list = json.array else { throw MockWorldError("campaigns: expected a list") }
        var campaigns: [EvergageCampaign] = []
        for (index, one) in list.enumerated() {
            campaigns.append(try EvergageCampaign(one, at: "campaigns[\(index)]"))
        }
        return campaigns
    }
}

extension EvergageWorld.Options {
    /// Updates the options that are present.
    mutating func update(_ json: EvergageJSON) throws(MockWorldError) {
        guard let members = json.object else { throw MockWorldError("options: expected an object") }
        for (name, value) in members {
            switch (name, value) {
            case ("strictTestAuth", .bool(let value)): strictTestAuth = value
            case ("strictChannels", .bool(let value)): strictChannels = value
            case ("strictItems", .bool(let value)): strictItems = value
            case ("pipelineIdentity", .bool(let value)): pipelineIdentity = value
            case ("busy", .bool(let value)): busy = value
            case ("encryptedIds", .bool(let value)): encryptedIds = value
            case ("defaultCurrency", .string(let value)): defaultCurrency = value
            default: throw MockWorldError("options.\(name): unknown, or not of its type")
            }
        }
    }
}
