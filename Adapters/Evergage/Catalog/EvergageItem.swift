import Experimentation
import Foundation

/// A thing in the vendor's catalogue with every field that the vendor has for it.
///
/// One value for the vendor's six classes: ``Kind`` tells them apart. Which fields a kind has is the vendor's business;
/// what doesn't belong to a kind is left out when it is written.
///
/// ```swift
/// var shoe = EvergageItem.product(id: "sku-11", name: "Trail shoe", price: 89.5)
/// shoe.categories = [.category(id: "Shoes|Trail")]
/// ```
public struct EvergageItem: Sendable, Hashable {
    /// What kind of thing an item is.
    public enum Kind: Sendable, Hashable {
        /// Something that can be bought.
        case product
        /// A text that is edited.
        case article
        /// A text of a blog.
        case blog
        /// A group of items. Its id holds its ancestors' ids, joined by `|`.
        case category
        /// A property that items share.
        case tag(EvergageTagType)
    }

    /// Whether campaigns should show an item.
    public enum PromotionState: Int, Sendable, Hashable, CaseIterable {
        /// Nothing special.
        case undefined = 0
        /// Rather than others.
        case prioritized = 1
        /// Never.
        case excluded = 2
    }

    /// What kind of thing it is.
    public var kind: Kind
    /// The id; an item with a blank one is never sent.
    public var id: String
    /// The name, or the title of a text.
    public var name: String?
    /// What it is, for people.
    public var itemDescription: String?
    /// Where it is to be seen.
    public var url: String?
    /// Where a picture of it is.
    public var imageURL: String?
    /// From when on it is promoted.
    public var published: Date?
    /// Until when it is promoted.
    public var expiration: Date?
    /// The properties that it shares with other items.
    public var tags: [EvergageItem] = []
    /// Whether campaigns should show it.
    public var promotionState: PromotionState = .undefined
    /// Where it is in the world.
    public var location: EvergageLocation?
    /// How good people find it.
    public var rating: Double?
    /// How many people said so.
    public var numRatings: Int?
    /// The categories that it is in; of products, articles and blogs.
    public var categories: [EvergageItem] = []

    /// The price of one; of products.
    ///
    /// A view may go without, a cart or an order should not.
    public var price: Double?
    /// What is said of the price.
    public var priceDescription: String?
    /// The price before a reduction.
    public var listPrice: Double?
    /// The currency, by its ISO 4217 code; the data set's if `nil`.
    public var currency: String?
    /// How many there are, or 1 and 0 for some and none.
    public var inventoryCount: Int?
    /// Another id of the same product.
    public var alternateID: String?

    /// When it was changed last; of articles and blogs.
    public var modifiedDate: Date?
    /// The line under the title; of articles and blogs.
    public var subTitle: String?
    /// Whether it is a department; of categories.
    public var isDepartment = false

    /// Creates an item.
    public init(_ kind: Kind, id: String, name: String? = nil) {
        self.kind = kind
        self.id = id
        self.name = name
    }
}

/// What a tag says of an item.
public enum EvergageTagType: Int, Sendable, Hashable, CaseIterable {
    /// Who makes it.
    case brand = 0
    /// What class of item it is.
    case itemClass = 1
    /// For whom it is.
    case gender = 2
    /// The style.
    case style = 3
    /// Who wrote it.
    case author = 4
    /// A word to find it by.
    case keyword = 5
    /// What class of text it is.
    case contentClass = 6

    /// The type as it is written.
    public var name: String {
        switch self {
        case .brand: "Brand"
        case .itemClass: "ItemClass"
        case .gender: "Gender"
        case .style: "Style"
        case .author: "Author"
        case .keyword: "Keyword"
        case .contentClass: "ContentClass"
        }
    }

    /// Creates a type from its written form; `nil` for one that the vendor doesn't have.
    public init?(name: String) {
        guard let type = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = type
    }
}

/// Where an item is in the world.
public struct EvergageLocation: Sendable, Hashable {
    /// In degrees, from -90 to 90.
    public var latitude: Double?
    /// In degrees, from -180 to 180.
    public var longitude: Double?
    /// The city.
    public var city: String?
    /// The code of the state or province.
    public var stateProvinceCode: String?
    /// The postal code.
    public var postalCode: String?

    /// Creates a location from coordinates.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Creates a location from a city and the state that it is in.
    public init(city: String, stateProvinceCode: String) {
        self.city = city
        self.stateProvinceCode = stateProvinceCode
    }

    /// Creates a location from a postal code.
    public init(postalCode: String) { self.postalCode = postalCode }

    init() {}
}

// MARK: - Factories

extension EvergageItem {
    /// Creates a product.
    public static func product(
        id: String,
        name: String? = nil,
        price: Double? = nil,
        url: String? = nil,
        imageURL: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        var item = Self(.product, id: id, name: name)
        item.price = price
        item.url = url
        item.imageURL = imageURL
        item.itemDescription = itemDescription
        return item
    }

    /// Creates an article.
    public static func article(
        id: String,
        name: String? = nil,
        subTitle: String? = nil,
        url: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        text(.article, id: id, name: name, subTitle: subTitle, url: url, itemDescription: itemDescription)
    }

    /// Creates a text of a blog.
    public static func blog(
        id: String,
        name: String? = nil,
        subTitle: String? = nil,
        url: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        text(.blog, id: id, name: name, subTitle: subTitle, url: url, itemDescription: itemDescription)
    }

    private static func text(
        _ kind: Kind,
        id: String,
        name: String?,
        subTitle: String?,
        url: String?,
        itemDescription: String?
    ) -> Self {
        var item = Self(kind, id: id, name: name)
        item.subTitle = subTitle
        item.url = url
        item.itemDescription = itemDescription
        return item
    }

    /// Creates a category.
    ///
    /// - Parameters:
    ///   - id: The id with its ancestors' ids, joined by `|`, as in `Shoes|Running`.
    ///   - isDepartment: Whether it is a department.
    ///   - name: The name.
    ///   - itemDescription: What is in it.
    /// - Returns: The category.
    public static func category(
        id: String,
        isDepartment: Bool = false,
        name: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        var item = Self(.category, id: id, name: name)
        item.isDepartment = isDepartment
        item.itemDescription = itemDescription
        return item
    }

    /// Creates a tag.
    public static func tag(
        id: String,
        type: EvergageTagType,
        name: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        var item = Self(.tag(type), id: id, name: name)
        item.itemDescription = itemDescription
        return item
    }
}
