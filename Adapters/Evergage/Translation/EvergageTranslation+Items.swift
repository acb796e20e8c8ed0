import Experimentation
import Foundation

extension EvergageItem {
    /// Creates the vendor's item for a neutral one; fields that the neutral one lacks may be in its attributes under
    /// the vendor's names.
    ///
    /// - Parameters:
    ///   - item: The neutral item.
    ///   - kind: The vendor's kind, if the item's own doesn't decide it.
    ///   - unread: Receives the names of the fields and attributes that the vendor doesn't have for this kind, or whose
    ///     value has another type.
    init(_ item: CatalogItem, as kind: Kind? = nil, unread: inout Set<String>) {
        self.init(kind ?? Kind(item), id: item.id, name: item.name)
        price = item.price.map { Double(nearestTo: $0) }
        currency = item.currency
        categories = item.categories.map { .category(id: $0) }
        var rest = item.attributes.values.filter { $0.value != .null }
        take(&rest)
        tags = EvergageTagType.allCases.compactMap { type in
            rest.take(type.name, \.stringValue).map { .tag(id: $0, type: type) }
        }
        // It is in the kind already.
        if case .tag = self.kind { _ = rest.take("tagType") { $0.stringValue.flatMap(EvergageTagType.init(name:)) } }
        unread.formUnion(rest.keys)
        if self.kind != .product {
            if item.price != nil { unread.insert("price") }
            if item.currency != nil { unread.insert("currency") }
        }
        if !self.kind.hasCategories, !categories.isEmpty { unread.insert("categories") }
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

extension Order {
    /// The names of the fields that have a value and no place in the vendor's order.
    var unknownToEvergage: Set<String> {
        let fields: [(name: String, isGiven: Bool)] = [
            ("affiliation", affiliation != nil), ("coupon", coupon != nil), ("paymentMethod", paymentMethod != nil),
            ("shipping", shipping != nil), ("shippingMethod", shippingMethod != nil), ("tax", tax != nil),
        ]
        return Set(fields.filter(\.isGiven).map(\.name))
    }
}

extension EvergageOrder {
    /// Creates the vendor's order for a neutral one with these lines.
    init(_ order: Order, lineItems: [EvergageLineItem]) {
        self.init(
            orderID: order.id,
            lineItems: lineItems,
            totalValue: order.total.map { Double(nearestTo: $0) },
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
