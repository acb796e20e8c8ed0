import Experimentation
import Foundation

extension EvergageItem {
    /// Creates the vendor's item for a neutral one; fields that the neutral one lacks may be in its attributes under
    /// the vendor's names.
    ///
    /// - Parameters:
    ///   - item: The neutral item.
    ///   - kind: The vendor's kind, if the item's own doesn't decide it.
    ///   - unread: Receives the names of the attributes that aren't the vendor's, or whose value has another type.
    init(_ item: CatalogItem, as kind: Kind? = nil, unread: inout Set<String>) {
        self.init(kind ?? Kind(item), id: item.id, name: item.name)
        price = item.price.flatMap { Double($0.description) }
        currency = item.currency
        categories = item.categories.map { .category(id: $0) }
        var rest = item.attributes.values.filter { $0.value != .null }
        func read<Value>(_ name: String, _ value: (FlagValue) -> Value?) -> Value? {
            guard let value = rest[name].flatMap(value) else { return nil }
            rest[name] = nil
            return value
        }
        itemDescription = read("description", \.stringValue)
        url = read("url", \.stringValue)
        imageURL = read("imageUrl", \.stringValue)
        published = read("published", \.itemDate)
        expiration = read("expiration", \.itemDate)
        promotionState = read("promotionState") { $0.stringValue.flatMap(PromotionState.init(wireName:)) } ?? .undefined
        location = read("location", EvergageLocation.init(json:))
        priceDescription = read("priceDescription", \.stringValue)
        alternateID = read("alternateId", \.stringValue)
        modifiedDate = read("modifiedDate", \.itemDate)
        subTitle = read("subTitle", \.stringValue)
        listPrice = read("listPrice", \.doubleValue)
        inventoryCount = read("inventoryCount", \.intValue)
        rating = read("rating", \.doubleValue)
        numRatings = read("numRatings", \.intValue)
        isDepartment = read("department", \.boolValue) ?? false
        tags = EvergageTagType.allCases.compactMap { type in
            read(type.name, \.stringValue).map { .tag(id: $0, type: type) }
        }
        // It is in the kind already.
        if case .tag = self.kind { _ = read("tagType") { $0.stringValue.flatMap(EvergageTagType.init(name:)) } }
        unread.formUnion(rest.keys)
    }

    /// Returns the type of a neutral tag: from its attributes or its kind, else a keyword.
    static func tagType(of item: CatalogItem) -> EvergageTagType {
        (item.attributes["tagType"]?.stringValue).flatMap(EvergageTagType.init(name:))
            ?? EvergageTagType(name: item.kind.rawValue) ?? .keyword
    }
}

extension EvergageItem.Kind {
    fileprivate init(_ item: CatalogItem) {
        switch item.kind {
        case .article: self = .article
        case .blog: self = .blog
        case .category: self = .category
        case .tag: self = .tag(EvergageItem.tagType(of: item))
        case .product: self = .product
        default: self = EvergageTagType(name: item.kind.rawValue).map { .tag($0) } ?? .product
        }
    }
}

extension FlagValue {
    /// A date in an item's attributes: milliseconds since 1970 as on the wire, or ISO 8601, which a date is as an attribute.
    fileprivate var itemDate: Date? {
        if let date = epochMilliseconds { return date }
        guard let text = stringValue else { return nil }
        return [true, false].lazy
            .compactMap { try? Date.ISO8601FormatStyle(includingFractionalSeconds: $0).parse(text) }.first
    }
}

extension EvergageOrder {
    /// Creates the vendor's order for a neutral one with these lines.
    init(_ order: Order, lineItems: [EvergageLineItem]) {
        self.init(
            orderID: order.id,
            lineItems: lineItems,
            totalValue: order.total.flatMap { Double($0.description) },
            totalValueCurrency: order.currency
        )
    }
}

extension EvergageReview {
    /// Creates the vendor's review for a neutral one.
    init(_ review: Review) {
        self.init(
            date: review.date,
            rating: review.rating.map(Double.init),
            title: review.title,
            content: review.content,
            userDisplayName: review.author,
            purchased: review.isPurchaser
        )
    }
}
