import Foundation

/// What an event does to an item, a cart or an order; the raw values are the vendor's reserved names, spaces included.
enum EvergageItemAction: String, Sendable, CaseIterable {
    case viewItem = "View Item"
    case viewItemOutOfStock = "View Item Out Of Stock"
    case viewItemDetail = "View Item Detail"
    case quickViewItem = "Quick View Item"
    case stopQuickViewItem = "Stop Quick View Item"
    case viewCategory = "View Category"
    case viewTag = "View Tag"
    case addToCart = "Add To Cart"
    case removeFromCart = "Remove From Cart"
    case updateLineItem = "Update Line Item"
    case viewCart = "View Cart"
    case purchase = "Purchase"
    case share = "Share"
    case review = "Review"
    case comment = "Comment"
    case favorite = "Favorite"
    case search = "Search"
    case searchViewResults = "Search View Results"
    case searchClick = "Search Click"
    case clickThrough = "Click Through"
    case viewBanditItems = "View Bandit Items"
}

/// A line of a cart or an order in an event.
struct EvergageLine: Sendable, Hashable {
    var id: String
    var quantity: Double
    var price: Double?

    /// Parses `{"_id","quantity","price"}`; other keys are ignored.
    init?(_ value: EvergageJSON) {
        guard let id = value["_id"]?.text else { return nil }
        self.init(id: id, quantity: value["quantity"], price: value["price"])
    }

    /// Parses a line of the newer namespace.
    init?(interaction value: EvergageJSON) {
        guard let id = value["catalogObjectId"]?.text else { return nil }
        self.init(id: id, quantity: value["quantity"], price: value["price"])
    }

    private init?(id: String, quantity: EvergageJSON?, price: EvergageJSON?) {
        let count = quantity == nil || quantity == .null ? 1 : quantity?.number
        guard let count, count >= 0 else { return nil }
        self.id = id
        self.quantity = count
        self.price = price?.number
    }
}

/// An order in an event.
struct EvergagePurchase: Sendable, Hashable {
    var orderID: String?
    var totalValue: Double?
    var currency: String?
    var lines: [EvergageLine]
}

/// An event of either namespace.
struct EvergageEvent: Sendable, Hashable {
    var json: EvergageJSON
    var action: String?
    var itemAction: EvergageItemAction?
    /// The items, as `type` and `_id`.
    var items: [Item] = []
    var singleLine: EvergageLine?
    var completeCart: [EvergageLine]?
    var purchase: EvergagePurchase?
    var stats: [Stat] = []

    struct Item: Sendable, Hashable {
        var type: String
        var id: String
        /// The item's tags by type; `tags`, `dimensions` and `relatedCatalogObjects` are merged.
        var tags: [String: [String]] = [:]
    }

    struct Stat: Sendable, Hashable {
        var experienceID: String
        var stat: String
        var isControl: Bool
        var promoted: [String: [String]] = [:]
    }

    /// Why an event that can be parsed is rejected.
    enum Invalid: Error, Hashable {
        case event, encryptedID, noEncryptedID

        /// The vendor's error code.
        var errorCode: Int {
            switch self {
            case .noEncryptedID: 1
            case .encryptedID: 2
            case .event: 5
            }
        }
    }

    init(_ json: EvergageJSON) throws(Invalid) {
        self.json = json
        action = json["action"]?.text
        itemAction = json["itemAction"]?.string.flatMap(EvergageItemAction.init)
        if json["interaction"] != nil {
            try readInteraction()
        } else {
            try readItems()
        }
        stats = (json["campaignStats"]?.array ?? []).compactMap { Stat($0) }
        if let encrypted = json["user"]?["encryptedId"] {
            guard encrypted.text != nil else { throw .noEncryptedID }
            guard encryptedID != nil else { throw .encryptedID }
        }
        guard hasContent, hasIdentity else { throw .event }
    }

    // MARK: What it says of itself

    var anonymousID: String? { json["user"]?["anonId"]?.text ?? json["user"]?["anonymousId"]?.text }
    var namedID: String? {
        if let id = json["user"]?["id"]?.text ?? encryptedID { return id }
        let identities = json["user"]?["identities"]?.object ?? [:]
        return identities.sorted { $0.key < $1.key }.lazy.compactMap { $0.value.text }.first
    }
    /// The id behind an encrypted one; here, the part after `enc:` is the id in base64.
    var encryptedID: String? {
        guard let text = json["user"]?["encryptedId"]?.text, let data = Data(base64Encoded: text) else { return nil }
        let plain = String(decoding: data, as: UTF8.self)
        return plain.hasPrefix("enc:") && plain.count > 4 ? String(plain.dropFirst(4)) : nil
    }
    var channel: String { json["source"]?["channel"]?.string ?? "" }
    var application: String { json["source"]?["application"]?.string ?? "" }
    var contentZones: Set<String> { Set(json["source"]?["contentZones"]?.array?.compactMap(\.string) ?? []) }
    var time: Double? { json["source"]?["time"]?.number }
    func flag(_ name: String) -> Bool { json["flags"]?[name]?.isTrue ?? false }
    var testMessages: String? { json["debug"]?["testMessages"]?.text }
    var wantsExplanations: Bool { json["debug"]?["explanations"]?.isTrue ?? false }

    private var hasIdentity: Bool {
        namedID != nil || anonymousID != nil || !(json["user"]?["attributes"]?.object ?? [:]).isEmpty
    }
    private var hasContent: Bool {
        action != nil || itemAction != nil || !stats.isEmpty
            || json["pushToken"]?.object != nil
            || !(json["user"]?["attributes"]?.object ?? [:]).isEmpty
            || !(json["account"]?["attributes"]?.object ?? [:]).isEmpty
    }
}

// MARK: - What an action is about

extension EvergageEvent {
    /// Whether an item action comes with the item, line, cart or order that it refers to.
    var hasWhatItsActionNeeds: Bool {
        switch itemAction {
        case .viewItem, .viewItemOutOfStock, .viewItemDetail, .quickViewItem, .viewCategory, .viewTag, .share, .review,
            .comment, .favorite:
            !items.isEmpty
        case .addToCart, .removeFromCart, .updateLineItem: singleLine != nil
        case .viewCart: completeCart != nil
        case .purchase: purchase != nil
        case nil, .stopQuickViewItem, .search, .searchViewResults, .searchClick, .clickThrough, .viewBanditItems: true
        }
    }
}

// MARK: - The older namespace

extension EvergageEvent {
    private mutating func readItems() throws(Invalid) {
        for (type, value) in json["catalog"]?.object ?? [:] {
            // A type's value is one object; some clients send an array of them.
            for one in value.array ?? [value] {
                guard let id = one["_id"]?.text else { continue }
                items.append(Item(type: type, id: id, tags: try Self.tags(of: one)))
            }
        }
        items.sort { ($0.type, $0.id) < ($1.type, $1.id) }
        if let line = json["cart"]?["singleLine"]?["Product"] { singleLine = EvergageLine(line) }
        if let lines = json["cart"]?["complete"]?["Product"]?.array {
            completeCart = lines.compactMap { EvergageLine($0) }
        }
        if let order = json["order"]?["Product"], order.object != nil {
            purchase = EvergagePurchase(
                orderID: order["orderId"]?.text,
                totalValue: order["totalValue"]?.number,
                currency: order["currency"]?.text,
                lines: (order["lineItems"]?.array ?? []).compactMap { EvergageLine($0) }
            )
        }
    }

    private static func tags(of item: EvergageJSON) throws(Invalid) -> [String: [String]] {
        let dimensions = item["dimensions"]
        let related = item["relatedCatalogObjects"]
        if dimensions != nil, related != nil { throw .event }
        if let members = dimensions ?? related {
            guard let object = members.object else { throw .event }
            var result: [String: [String]] = [:]
            for (type, ids) in object {
                guard let texts = ids.array.map({ $0.compactMap(\.string) }), texts.count == ids.array?.count else {
                    throw .event
                }
                result[type] = texts
            }
            return result
        }
        var result: [String: [String]] = [:]
        for tag in item["tags"]?.array ?? [] {
            guard let type = tag["tagType"]?.text, let id = tag["_id"]?.text else { continue }
            result[type, default: []].append(id)
        }
        return result
    }
}

extension EvergageEvent.Stat {
    private static let names = [
        "Impression": "Impression", "Dismissal": "Dismissal", "Click": "Click", "Clickthrough": "Click",
    ]
    private static let letters = ["i": "Impression", "c": "Click", "d": "Dismissal", "u": "Unsubscribe", "s": "Send"]

    fileprivate init?(_ json: EvergageJSON) {
        guard let id = json["experienceId"]?.text, let stat = json["stat"]?.string.flatMap({ Self.names[$0] }) else {
            return nil
        }
        experienceID = id
        self.stat = stat
        isControl = json["control"]?.isTrue ?? false
        promoted = (json["catalog"]?.object ?? [:]).compactMapValues { $0.array?.compactMap(\.string) }
    }

    /// Parses an event of the web beacon's statistics receiver.
    init?(receiver json: EvergageJSON) {
        guard let id = json["id"]?.text, let stat = json["stat"]?.string.flatMap({ Self.letters[$0] }) else {
            return nil
        }
        experienceID = id
        self.stat = stat
        isControl = json["ug"]?.string == "Control"
        for item in json["piks"]?.array ?? [] {
            guard let id = item["_id"]?.text, let type = item["tagType"]?.text ?? item["type"]?.text else { continue }
            promoted[type, default: []].append(id)
        }
    }
}

// MARK: - The newer namespace

extension EvergageEvent {
    private static let names: [String: EvergageItemAction] = [
        "View Catalog Object": .viewItem,
        "View Catalog Object Detail": .viewItemDetail,
        "Quick View Catalog Object": .quickViewItem,
        "Stop Quick View Catalog Object": .stopQuickViewItem,
        "Share Catalog Object": .share,
        "Review Catalog Object": .review,
        "Comment Catalog Object": .comment,
        "Favorite Catalog Object": .favorite,
        "Add To Cart": .addToCart,
        "Remove From Cart": .removeFromCart,
        "Replace Cart": .viewCart,
        "Purchase": .purchase,
    ]

    private mutating func readInteraction() throws(Invalid) {
        guard let interaction = json["interaction"], let name = interaction["name"]?.text else { return }
        action = name
        itemAction = Self.names[name]
        if let object = interaction["catalogObject"], let id = object["id"]?.text {
            let type = object["type"]?.text ?? "Product"
            if type == "Category", itemAction == .viewItem { itemAction = .viewCategory }
            items = [Item(type: type, id: id, tags: try Self.tags(of: object))]
        }
        if let line = interaction["lineItem"] { singleLine = EvergageLine(interaction: line) }
        if itemAction == .viewCart, let lines = interaction["lineItems"]?.array {
            completeCart = lines.compactMap { EvergageLine(interaction: $0) }
        }
        if itemAction == .purchase, let order = interaction["order"], order.object != nil {
            purchase = EvergagePurchase(
                orderID: order["id"]?.text ?? order["orderId"]?.text,
                totalValue: order["totalValue"]?.number,
                currency: order["currency"]?.text,
                lines: (order["lineItems"]?.array ?? []).compactMap { EvergageLine(interaction: $0) }
            )
        }
    }
}
