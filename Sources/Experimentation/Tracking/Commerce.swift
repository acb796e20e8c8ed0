import Foundation

/// An entry in a shop's or publisher's catalogue: a product, an article, a category, a tag.
public struct CatalogItem: Sendable, Hashable, Codable {
    /// The kind of an item; open to others.
    public struct Kind: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByStringLiteral {
        /// The kind's written form.
        public let rawValue: String
        /// Creates a kind from its written form.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a kind from its written form.
        public init(stringLiteral value: String) { rawValue = value }
        /// Something for sale.
        public static let product: Kind = "product"
        /// An editorial text.
        public static let article: Kind = "article"
        /// A blog post.
        public static let blog: Kind = "blog"
        /// A group of items.
        public static let category: Kind = "category"
        /// A property that items share.
        public static let tag: Kind = "tag"
    }

    /// The id in the catalogue.
    public var id: String
    /// The kind of the item.
    public var kind: Kind
    /// The name, or the title of a text.
    public var name: String?
    /// The unit price, in ``currency``.
    public var price: Decimal?
    /// The currency's ISO 4217 code.
    public var currency: String?
    /// The ids of its categories.
    public var categories: [String]
    /// Further attributes.
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

/// A quantity of one item, in a cart or an order.
public struct LineItem: Sendable, Hashable, Codable {
    /// The item.
    public var item: CatalogItem
    /// The number of units.
    public var quantity: Int

    /// Creates a line.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - quantity: The number of units; below one it is refused when tracked.
    public init(item: CatalogItem, quantity: Int = 1) {
        self.item = item
        self.quantity = quantity
    }
}

/// A completed purchase.
public struct Order: Sendable, Hashable, Codable {
    /// The order's id, by which some vendors count an order only once.
    public var id: String?
    /// The purchased items.
    public var lines: [LineItem]
    /// The total paid; the sum of the lines if `nil`.
    public var total: Decimal?
    /// The currency's ISO 4217 code.
    public var currency: String?
    /// The shop, or a part of it.
    public var affiliation: String?
    /// The shipping costs included.
    public var shipping: Decimal?
    /// The tax included.
    public var tax: Decimal?
    /// The coupon code.
    public var coupon: String?
    /// The payment method.
    public var paymentMethod: String?
    /// The shipping method.
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
    /// The rating, from 1 to 100.
    public var rating: Int?
    /// The headline.
    public var title: String?
    /// The text.
    public var content: String?
    /// The displayed name of the author.
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

/// The text and payload of a notification.
public struct NotificationContent: Sendable, Hashable, Codable {
    /// The text shown.
    public var message: String?
    /// The button's label.
    public var callToAction: String?
    /// The payload as received.
    public var payload: [String: FlagValue]

    /// Creates a notification's content.
    public init(message: String? = nil, callToAction: String? = nil, payload: [String: FlagValue] = [:]) {
        self.message = message
        self.callToAction = callToAction
        self.payload = payload
    }
}

// MARK: - Lenient decoding

extension CatalogItem {
    /// Decodes an item; only `id` is required, and `kind` defaults to a product.
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
    /// Decodes a line; `quantity` defaults to one.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            item: try container.decode(CatalogItem.self, forKey: .item),
            quantity: try container.decodeIfPresent(Int.self, forKey: .quantity) ?? 1
        )
    }
}

extension Order {
    /// Decodes an order; no field is required.
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
    /// Decodes a notification's content; no field is required.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            message: try container.decodeIfPresent(String.self, forKey: .message),
            callToAction: try container.decodeIfPresent(String.self, forKey: .callToAction),
            payload: try container.decodeIfPresent([String: FlagValue].self, forKey: .payload) ?? [:]
        )
    }
}
