import Foundation

/// A thing in a shop's or a publisher's catalogue: a product, an article, a category, a tag.
public struct CatalogItem: Sendable, Hashable, Codable {
    /// What kind of thing an item is; open to others.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByStringLiteral {
        /// The kind as it is written.
        public let rawValue: String
        /// Creates a kind from its written form.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a kind from its written form.
        public init(stringLiteral value: String) { rawValue = value }
        /// Something that can be bought.
        public static let product: Kind = "product"
        /// A text that is edited.
        public static let article: Kind = "article"
        /// A text of a blog.
        public static let blog: Kind = "blog"
        /// A group of items.
        public static let category: Kind = "category"
        /// A property that items share.
        public static let tag: Kind = "tag"
    }

    /// The id in the catalogue.
    public var id: String
    /// What kind of thing it is.
    public var kind: Kind
    /// The name, or the title of a text.
    public var name: String?
    /// The price of one, in units of ``currency``.
    public var price: Decimal?
    /// The currency, by its ISO 4217 code.
    public var currency: String?
    /// The ids of the categories that it is in.
    public var categories: [String]
    /// What else is known of it.
    public var attributes: Attributes

    /// Creates an item.
    public init(
        id: String,
        kind: Kind = .product,
        name: String? = nil,
        price: Decimal? = nil,
        currency: String? = nil,
        categories: [String] = [],
        attributes: Attributes = [:]
    ) {
        self.id = id
        self.kind = kind
        self.name = name
        self.price = price
        self.currency = currency
        self.categories = categories
        self.attributes = attributes
    }
}

/// Some of one item, in a cart or an order.
public struct LineItem: Sendable, Hashable, Codable {
    /// The item.
    public var item: CatalogItem
    /// How many.
    public var quantity: Int

    /// Creates a line.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - quantity: How many; what is below one is refused when it is tracked.
    public init(item: CatalogItem, quantity: Int = 1) {
        self.item = item
        self.quantity = quantity
    }
}

/// What was bought.
public struct Order: Sendable, Hashable, Codable {
    /// The order's id; the vendors that can count an order once by it.
    public var id: String?
    /// What was bought.
    public var lines: [LineItem]
    /// What was paid in all; the sum of the lines if `nil`.
    public var total: Decimal?
    /// The currency, by its ISO 4217 code.
    public var currency: String?
    /// The shop, or the part of it.
    public var affiliation: String?
    /// The part that is shipping.
    public var shipping: Decimal?
    /// The part that is tax.
    public var tax: Decimal?
    /// The code of a coupon.
    public var coupon: String?
    /// How it was paid.
    public var paymentMethod: String?
    /// How it is sent.
    public var shippingMethod: String?

    /// Creates an order.
    public init(
        id: String? = nil,
        lines: [LineItem] = [],
        total: Decimal? = nil,
        currency: String? = nil,
        affiliation: String? = nil,
        shipping: Decimal? = nil,
        tax: Decimal? = nil,
        coupon: String? = nil,
        paymentMethod: String? = nil,
        shippingMethod: String? = nil
    ) {
        self.id = id
        self.lines = lines
        self.total = total
        self.currency = currency
        self.affiliation = affiliation
        self.shipping = shipping
        self.tax = tax
        self.coupon = coupon
        self.paymentMethod = paymentMethod
        self.shippingMethod = shippingMethod
    }
}

/// A user's review of an item.
public struct Review: Sendable, Hashable, Codable {
    /// From 1 to 100.
    public var rating: Int?
    /// The headline.
    public var title: String?
    /// The text.
    public var content: String?
    /// The name shown beside it.
    public var author: String?
    /// When it was written.
    public var date: Date?
    /// Whether the author bought the item.
    public var isPurchaser: Bool?

    /// Creates a review.
    public init(
        rating: Int? = nil,
        title: String? = nil,
        content: String? = nil,
        author: String? = nil,
        date: Date? = nil,
        isPurchaser: Bool? = nil
    ) {
        self.rating = rating
        self.title = title
        self.content = content
        self.author = author
        self.date = date
        self.isPurchaser = isPurchaser
    }
}

/// What a notification said and carried.
public struct NotificationContent: Sendable, Hashable, Codable {
    /// The text shown.
    public var message: String?
    /// What the button says.
    public var callToAction: String?
    /// The payload as it arrived.
    public var payload: [String: FlagValue]

    /// Creates a notification's content.
    public init(message: String? = nil, callToAction: String? = nil, payload: [String: FlagValue] = [:]) {
        self.message = message
        self.callToAction = callToAction
        self.payload = payload
    }
}

// MARK: - Reading what people write

extension CatalogItem {
    /// Decodes an item of which only `id` must be there; it is a product unless `kind` says otherwise.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decode(String.self, forKey: .id),
            kind: try container.decodeIfPresent(Kind.self, forKey: .kind) ?? .product,
            name: try container.decodeIfPresent(String.self, forKey: .name),
            price: try container.decodeIfPresent(Decimal.self, forKey: .price),
            currency: try container.decodeIfPresent(String.self, forKey: .currency),
            categories: try container.decodeIfPresent([String].self, forKey: .categories) ?? [],
            attributes: try container.decodeIfPresent(Attributes.self, forKey: .attributes) ?? [:]
        )
    }
}

extension LineItem {
    /// Decodes a line; one of the item unless `quantity` says otherwise.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            item: try container.decode(CatalogItem.self, forKey: .item),
            quantity: try container.decodeIfPresent(Int.self, forKey: .quantity) ?? 1
        )
    }
}

extension Order {
    /// Decodes an order, of which nothing must be there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            id: try container.decodeIfPresent(String.self, forKey: .id),
            lines: try container.decodeIfPresent([LineItem].self, forKey: .lines) ?? [],
            total: try container.decodeIfPresent(Decimal.self, forKey: .total),
            currency: try container.decodeIfPresent(String.self, forKey: .currency),
            affiliation: try container.decodeIfPresent(String.self, forKey: .affiliation),
            shipping: try container.decodeIfPresent(Decimal.self, forKey: .shipping),
            tax: try container.decodeIfPresent(Decimal.self, forKey: .tax),
            coupon: try container.decodeIfPresent(String.self, forKey: .coupon),
            paymentMethod: try container.decodeIfPresent(String.self, forKey: .paymentMethod),
            shippingMethod: try container.decodeIfPresent(String.self, forKey: .shippingMethod)
        )
    }
}

extension NotificationContent {
    /// Decodes a notification's content, of which nothing must be there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            message: try container.decodeIfPresent(String.self, forKey: .message),
            callToAction: try container.decodeIfPresent(String.self, forKey: .callToAction),
            payload: try container.decodeIfPresent([String: FlagValue].self, forKey: .payload) ?? [:]
        )
    }
}
