import Experimentation
import Foundation

/// An entry in the vendor's catalogue with every field that the vendor has for it.
///
/// One type for the vendor's six classes, told apart by ``Kind``. The vendor decides which fields a kind has; others
/// are left out when the item is written.
///
/// ```swift
/// var shoe = EvergageItem.product(id: "sku-11", name: "Trail shoe", price: 89.5)
/// shoe.categories = [.category(id: "Shoes|Trail")]
/// ```
public struct EvergageItem: Sendable, Hashable {
    /// The kind of an item.
    public enum Kind: Sendable, Hashable {
        /// Something for sale.
        case product
        /// An editorial text.
        case article
        /// A blog post.
        case blog
        /// A group of items. Its id contains its ancestors' ids, joined by `|`.
        case category
        /// A property that items share.
        case tag(EvergageTagType)
    }

    /// Whether campaigns should show an item.
    public enum PromotionState: Int, Sendable, Hashable, CaseIterable {
        /// No preference.
        case undefined = 0
        /// Preferred to others.
        case prioritized = 1
        /// Never.
        case excluded = 2
    }

    /// The kind of the item.
    public var kind: Kind
    /// The id; an item with a blank id is never sent.
    public var id: String
    /// The name, or the title of a text.
    public var name: String?
    /// A description for people.
    public var itemDescription: String?
    /// The URL of its page.
    public var url: String?
    /// The URL of its picture.
    public var imageURL: String?
    /// When its promotion begins.
    public var published: Date?
    /// When its promotion ends.
    public var expiration: Date?
    /// The properties that it shares with other items.
    public var tags: [EvergageItem] = []
    /// Whether campaigns should show it.
    public var promotionState: PromotionState = .undefined
    /// Its geographical location.
    public var location: EvergageLocation?
    /// Its average rating.
    public var rating: Double?
    /// The number of ratings.
    public var numRatings: Int?
    /// Its categories; for products, articles and blogs.
    public var categories: [EvergageItem] = []

    /// The unit price; for products.
    ///
    /// A view may omit it; a cart or an order shouldn't.
    public var price: Double?
    /// A description of the price.
    public var priceDescription: String?
    /// The price before a reduction.
    public var listPrice: Double?
    /// The currency's ISO 4217 code; the data set's if `nil`.
    public var currency: String?
    /// The number in stock, or 1 and 0 for some and none.
    public var inventoryCount: Int?
    /// Another id of the same product.
    public var alternateID: String?

    /// When it was last changed; for articles and blogs.
    public var modifiedDate: Date?
    /// The line under the title; for articles and blogs.
    public var subTitle: String?
    /// Whether it is a department; for categories.
    public var isDepartment = false

    /// Creates an item.
    public init(_ kind: Kind, id: String, name: String? = nil) {
        self.kind = kind
        self.id = id
        self.name = name
    }
}

/// The property that a tag describes.
public enum EvergageTagType: Int, Sendable, Hashable, CaseIterable {
    /// The maker.
    case brand = 0
    /// The class of the item.
    case itemClass = 1
    /// The gender it is meant for.
    case gender = 2
    /// The style.
    case style = 3
    /// The author.
    case author = 4
    /// A keyword.
    case keyword = 5
    /// The class of the text.
    case contentClass = 6

    /// The type's written form.
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

/// A geographical location.
public struct EvergageLocation: Sendable, Hashable {
    /// The latitude in degrees, from -90 to 90.
    public var latitude: Double?
    /// The longitude in degrees, from -180 to 180.
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

    /// Creates a location from a city and its state.
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
        var item = Self(.article, id: id, name: name)
        item.subTitle = subTitle
        item.url = url
        item.itemDescription = itemDescription
        return item
    }

    /// Creates a blog post.
    public static func blog(
        id: String,
        name: String? = nil,
        subTitle: String? = nil,
        url: String? = nil,
        itemDescription: String? = nil
    ) -> Self {
        var item = article(id: id, name: name, subTitle: subTitle, url: url, itemDescription: itemDescription)
        item.kind = .blog
        return item
    }

    /// Creates a category.
    ///
    /// - Parameters:
    ///   - id: The id with its ancestors' ids, joined by `|`, as in `Shoes|Running`.
    ///   - isDepartment: Whether it is a department.
    ///   - name: The name.
    ///   - itemDescription: A description for people.
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
