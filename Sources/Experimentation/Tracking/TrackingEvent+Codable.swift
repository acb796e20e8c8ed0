import Foundation

/// The written form: one flat object whose `type` is the kind in lower camel case, with the kind's own fields.
///
/// The store keeps it and the command line reads it, so names and meanings are only ever added.
extension TrackingEvent: Codable {
    private enum Key: String, CodingKey {
        case type, attributes, name, value, url, item, line, lines, order, review, seconds, notification, campaign
        case exposure, granted, native
    }

    /// The kind's written name.
    public var type: String {
        switch kind {
        case .custom: "custom"
        case .screenView: "screenView"
        case .pageView: "pageView"
        case .goalCompleted: "goalCompleted"
        case .goalAbandoned: "goalAbandoned"
        case .viewItem: "viewItem"
        case .viewItemDetail: "viewItemDetail"
        case .viewCategory: "viewCategory"
        case .viewTag: "viewTag"
        case .addToCart: "addToCart"
        case .removeFromCart: "removeFromCart"
        case .replaceCart: "replaceCart"
        case .purchase: "purchase"
        case .review: "review"
        case .share: "share"
        case .comment: "comment"
        case .favorite: "favorite"
        case .installed: "installed"
        case .sessionStarted: "sessionStarted"
        case .sessionEnded: "sessionEnded"
        case .notificationReceived: "notificationReceived"
        case .notificationOpened: "notificationOpened"
        case .campaignImpression: "campaignImpression"
        case .campaignDismissal: "campaignDismissal"
        case .campaignClick: "campaignClick"
        case .exposure: "exposure"
        case .consentChanged: "consentChanged"
        case .native: "native"
        }
    }

    /// The written names of all kinds, in the order of the documentation.
    public static let types = [
        "custom", "screenView", "pageView", "goalCompleted", "goalAbandoned", "viewItem", "viewItemDetail",
        "viewCategory", "viewTag", "addToCart", "removeFromCart", "replaceCart", "purchase", "review", "share",
        "comment", "favorite", "installed", "sessionStarted", "sessionEnded", "notificationReceived",
        "notificationOpened", "campaignImpression", "campaignDismissal", "campaignClick", "exposure",
        "consentChanged", "native",
    ]

    /// Decodes the written form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let type = try container.decode(String.self, forKey: .type)
        func field<Value: Decodable>(_ key: Key) throws -> Value { try container.decode(Value.self, forKey: key) }
        func optional<Value: Decodable>(_ key: Key) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: key)
        }
        let kind: Kind =
            switch type {
            case "custom": .custom(name: try field(.name), value: try optional(.value))
            case "screenView": .screenView(name: try field(.name))
            case "pageView": .pageView(url: try field(.url))
            case "goalCompleted": .goalCompleted(name: try field(.name))
            case "goalAbandoned": .goalAbandoned(name: try field(.name))
            case "viewItem": .viewItem(try optional(.item))
            case "viewItemDetail": .viewItemDetail(try optional(.item))
            case "viewCategory": .viewCategory(try optional(.item))
            case "viewTag": .viewTag(try optional(.item))
            case "addToCart": .addToCart(try field(.line))
            case "removeFromCart": .removeFromCart(try field(.line))
            case "replaceCart": .replaceCart(try field(.lines))
            case "purchase": .purchase(try field(.order))
            case "review": .review(try field(.item), try optional(.review))
            case "share": .share(try field(.item))
            case "comment": .comment(try field(.item))
            case "favorite": .favorite(try field(.item))
            case "installed": .installed
            case "sessionStarted": .sessionStarted
            case "sessionEnded": .sessionEnded(seconds: try field(.seconds))
            case "notificationReceived": .notificationReceived(try field(.notification))
            case "notificationOpened": .notificationOpened(try field(.notification))
            case "campaignImpression": .campaignImpression(try field(.campaign))
            case "campaignDismissal": .campaignDismissal(try field(.campaign))
            case "campaignClick": .campaignClick(try field(.campaign))
            case "exposure": .exposure(try field(.exposure))
            case "consentChanged": .consentChanged(granted: try field(.granted))
            case "native": .native(try field(.native))
            default:
                throw DecodingError.dataCorruptedError(
                    forKey: .type,
                    in: container,
                    debugDescription:
                        "\"\(type)\" is not a type of event; known are \(Self.types.joined(separator: ", "))"
                )
            }
        self.init(kind, attributes: try optional(.attributes) ?? [:])
    }

    /// Encodes the written form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(type, forKey: .type)
        if !attributes.isEmpty { try container.encode(attributes, forKey: .attributes) }
        switch kind {
        case .custom(let name, let value):
            try container.encode(name, forKey: .name)
            try container.encodeIfPresent(value, forKey: .value)
        case .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name):
            try container.encode(name, forKey: .name)
        case .pageView(let url): try container.encode(url, forKey: .url)
        case .viewItem(let item), .viewItemDetail(let item), .viewCategory(let item), .viewTag(let item):
            try container.encodeIfPresent(item, forKey: .item)
        case .addToCart(let line), .removeFromCart(let line): try container.encode(line, forKey: .line)
        case .replaceCart(let lines): try container.encode(lines, forKey: .lines)
        case .purchase(let order): try container.encode(order, forKey: .order)
        case .review(let item, let review):
            try container.encode(item, forKey: .item)
            try container.encodeIfPresent(review, forKey: .review)
        case .share(let item), .comment(let item), .favorite(let item): try container.encode(item, forKey: .item)
        case .installed, .sessionStarted: break
        case .sessionEnded(let seconds): try container.encode(seconds, forKey: .seconds)
        case .notificationReceived(let content), .notificationOpened(let content):
            try container.encode(content, forKey: .notification)
        case .campaignImpression(let campaign), .campaignDismissal(let campaign), .campaignClick(let campaign):
            try container.encode(campaign, forKey: .campaign)
        case .exposure(let exposure): try container.encode(exposure, forKey: .exposure)
        case .consentChanged(let granted): try container.encode(granted, forKey: .granted)
        case .native(let event): try container.encode(event, forKey: .native)
        }
    }
}

extension NativeEvent: Codable {
    private enum Key: String, CodingKey {
        case type, payload, priority, carriesAttributeChanges
    }

    /// Decodes the written form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        self.init(
            type: try container.decode(String.self, forKey: .type),
            payload: try container.decode([String: FlagValue].self, forKey: .payload),
            priority: try container.decode(Priority.self, forKey: .priority),
            carriesAttributeChanges: try container.decodeIfPresent(Bool.self, forKey: .carriesAttributeChanges) ?? true
        )
    }

    /// Encodes the written form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(type, forKey: .type)
        try container.encode(payload, forKey: .payload)
        try container.encode(priority, forKey: .priority)
        // Left out where it is true, as in what earlier versions have stored.
        if !carriesAttributeChanges { try container.encode(false, forKey: .carriesAttributeChanges) }
    }
}
