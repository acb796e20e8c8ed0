import Foundation

/// A quantity of one item, in a cart or an order.
///
/// Its value is the item's price times the quantity.
public struct EvergageLineItem: Sendable, Hashable {
    /// The item; a product, with its price.
    public var item: EvergageItem
    /// The quantity; one if `nil`.
    public var quantity: Double?

    /// Creates a line.
    public init(item: EvergageItem, quantity: Double? = nil) {
        self.item = item
        self.quantity = quantity
    }

    /// Creates a line for a product.
    public init(productID: String, productName: String? = nil, price: Double? = nil, quantity: Double? = nil) {
        self.init(item: .product(id: productID, name: productName, price: price), quantity: quantity)
    }
}

/// A purchase, or the contents of a cart.
public struct EvergageOrder: Sendable, Hashable {
    /// The order's id, by which the vendor counts an order only once.
    public var orderID: String?
    /// The lines; for a purchase without any, the vendor takes the cart's.
    public var lineItems: [EvergageLineItem]?
    /// The total paid; `nil` and 0 mean the sum of the lines.
    public var totalValue: Double?
    /// The ISO 4217 code of ``totalValue``; the data set's currency if `nil`.
    public var totalValueCurrency: String?

    /// Creates an order.
    public init(
        orderID: String? = nil,
        lineItems: [EvergageLineItem]? = nil,
        totalValue: Double? = nil,
        totalValueCurrency: String? = nil
    ) {
        self.orderID = orderID
        self.lineItems = lineItems
        self.totalValue = totalValue
        self.totalValueCurrency = totalValueCurrency
    }
}

/// A user's review of an item.
public struct EvergageReview: Sendable, Hashable {
    /// The item's id; the reviewed item's own takes precedence.
    public var itemID: String?
    /// When it was written.
    public var date: Date?
    /// The rating, an integer from 1 to 100.
    public var rating: Double?
    /// The headline.
    public var title: String?
    /// The text.
    public var content: String?
    /// The displayed name of the author.
    public var userDisplayName: String?
    /// Whether the author bought the item.
    public var purchased: Bool?

    /// Creates a review.
    public init(
        itemID: String? = nil,
        date: Date? = nil,
        rating: Double? = nil,
        title: String? = nil,
        content: String? = nil,
        userDisplayName: String? = nil,
        purchased: Bool? = nil
    ) {
        self.itemID = itemID
        self.date = date
        self.rating = rating
        self.title = title
        self.content = content
        self.userDisplayName = userDisplayName
        self.purchased = purchased
    }
}
