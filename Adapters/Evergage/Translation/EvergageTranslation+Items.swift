import AdapterKit
import Experimentation

extension EvergageItem {
    /// Creates the vendor's item for a neutral one; fields that the neutral item lacks may be in its attributes, under
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
        let attributes = item.attributes.values.filter { $0.value != .null }
        var read = self.kind.ownMembers.read(attributes, into: &self)
        for type in EvergageTagType.allCases {
            guard let id = attributes[type.name]?.stringValue else { continue }
            tags.append(.tag(id: id, type: type))
            read.insert(type.name)
        }
        // The kind already contains it.
        if case .tag = self.kind, EvergageTagType(attributeOf: item) != nil { read.insert("tagType") }
        unread.formUnion(Set(attributes.keys).subtracting(read))
        unread.formUnion(item.givenFields.subtracting(self.kind.sharedMembers.map(\.name)))
    }
}

extension EvergageTagType {
    /// Creates the type of a neutral tag: from its attributes or its kind, else a keyword.
    init(_ item: CatalogItem) {
        self = Self(attributeOf: item) ?? Self(name: item.kind.rawValue) ?? .keyword
    }

    fileprivate init?(attributeOf item: CatalogItem) {
        guard let name = item.attributes["tagType"]?.stringValue else { return nil }
        self.init(name: name)
    }
}

extension EvergageItem.Kind {
    fileprivate init(_ item: CatalogItem) {
        switch item.kind {
        case .article: self = .article
        case .blog: self = .blog
        case .category: self = .category
        case .tag: self = .tag(EvergageTagType(item))
        case .product: self = .product
        default: self = EvergageTagType(name: item.kind.rawValue).map { .tag($0) } ?? .product
        }
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
