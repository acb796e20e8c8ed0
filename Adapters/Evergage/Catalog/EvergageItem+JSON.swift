import AdapterKit
import Experimentation

extension EvergageItem {
    /// The JSON form: the fields that are set, with the kind's one-letter code as `type`.
    ///
    /// Numbers that are negative or not finite, tags and categories without an id, and a location that isn't on Earth
    /// are left out.
    public var json: [String: FlagValue] {
        var members = catalogJSON().members
        members["type"] = .string(kind.code)
        if case .tag(let type) = kind { members["tagType"] = .string(type.name) }
        return members
    }

    /// Creates an item from its JSON form.
    ///
    /// `nil` without a `type` (code or name) or with a blank `_id`; a tag needs a `tagType` that the vendor has. Fields
    /// that only other kinds have are ignored, and a date may also be ISO 8601.
    public init?(json: FlagValue) {
        guard let members = json.objectValue, let type = members["type"]?.stringValue,
            let id = members["_id"]?.stringValue,
            let kind = Kind(type: type, tagType: members["tagType"]?.stringValue), !id.isBlank
        else { return nil }
        self.init(kind, id: id)
        (kind.sharedMembers + kind.ownMembers).read(members, into: &self)
    }

    /// Creates items from a JSON list; invalid entries are skipped.
    ///
    /// - Returns: The items, or `nil` if it isn't a list.
    public static func items(json: FlagValue) -> [EvergageItem]? {
        json.arrayValue.map { $0.compactMap(EvergageItem.init(json:)) }
    }

    /// Returns the form inside an event, where the type's name encloses it, with notes on what was left out.
    func catalogJSON() -> (members: [String: FlagValue], notes: [WireNote]) {
        var notes: [WireNote] = []
        var members = (kind.sharedMembers + kind.ownMembers).write(self, &notes)
        members["_id"] = .string(id)
        return (members, notes)
    }
}

// MARK: - Members

/// The members of items' JSON form besides type and id, grouped by the kinds that have them.
private enum ItemMembers {
    typealias Member = JSONMember<EvergageItem>

    static let names: [Member] = [.text("name", \.name), .items("tags", \.tags, where: \.isTag)]
    static let prices = [
        Member.number("price", \.price),
        Member("currency", \.currency, read: \.stringValue) { text, _ in text.unlessBlank.map(FlagValue.string) },
    ]
    static let categories = [Member.items("categories", \.categories) { $0 == .category }]
    static let descriptions: [Member] = [
        .text("description", \.itemDescription), .text("url", \.url), .text("imageUrl", \.imageURL),
        .date("published", \.published, mayBeISO8601: true), .date("expiration", \.expiration, mayBeISO8601: true),
        .choice(
            "promotionState",
            \.promotionState,
            [.undefined: "Undefined", .prioritized: "Prioritized", .excluded: "Excluded"],
            unless: .undefined
        ),
        Member("location", \.location, read: EvergageLocation.init(json:)) { $0.wire(&$1) },
        .number("rating", \.rating, mayBeNegative: true), .count("numRatings", \.numRatings),
    ]
    static let offers: [Member] = [
        .text("priceDescription", \.priceDescription), .number("listPrice", \.listPrice),
        .count("inventoryCount", \.inventoryCount), .text("alternateId", \.alternateID),
    ]
    static let editions: [Member] = [
        .date("modifiedDate", \.modifiedDate, mayBeISO8601: true), .text("subTitle", \.subTitle),
    ]
    static let departments = [
        Member("department", \.isDepartment, unless: false, read: \.boolValue) { value, _ in .bool(value) }
    ]
}

extension EvergageItem.Kind {
    /// The members for fields that a neutral item has, too.
    var sharedMembers: [JSONMember<EvergageItem>] {
        switch self {
        case .product: ItemMembers.names + ItemMembers.prices + ItemMembers.categories
        case .article, .blog: ItemMembers.names + ItemMembers.categories
        case .category, .tag: ItemMembers.names
        }
    }

    /// The members for fields that only the vendor's items have.
    var ownMembers: [JSONMember<EvergageItem>] {
        switch self {
        case .product: ItemMembers.descriptions + ItemMembers.offers
        case .article, .blog: ItemMembers.descriptions + ItemMembers.editions
        case .category: ItemMembers.descriptions + ItemMembers.departments
        case .tag: ItemMembers.descriptions
        }
    }
}

extension JSONMember<EvergageItem> {
    /// Items of one kind inside an item; a tag or a category is only named there.
    fileprivate static func items(
        _ name: String,
        _ property: any WritableKeyPath<EvergageItem, [EvergageItem]> & Sendable,
        where fits: @escaping @Sendable (EvergageItem.Kind) -> Bool
    ) -> Self {
        Self(name, property, unless: [], read: EvergageItem.items(json:)) { items, notes in
            let items = items.filter { fits($0.kind) }
            let named = items.filter { !$0.id.isBlank }
            if named.count < items.count { notes.append(.warning("\(name): entries with a blank id were left out")) }
            let objects = named.map { FlagValue.object(EvergageItem($0.kind, id: $0.id, name: $0.name).json) }
            if objects.isEmpty { return nil }
            return .array(objects)
        }
    }
}

// MARK: - Words

extension EvergageItem.Kind {
    /// The name of the type; for a tag, of its own type.
    var typeName: String {
        switch self {
        case .product: "Product"
        case .article: "Article"
        case .blog: "Blog"
        case .category: "Category"
        case .tag(let type): type.name
        }
    }

    var isTag: Bool {
        if case .tag = self { true } else { false }
    }

    fileprivate var code: String { isTag ? "t" : typeName.prefix(1).lowercased() }

    fileprivate init?(type: String, tagType: String?) {
        let untagged: [Self] = [.product, .article, .blog, .category]
        if let kind = untagged.first(where: { [$0.code, $0.typeName].contains(type) }) {
            self = kind
            return
        }
        guard let name = ["t", "Tag"].contains(type) ? tagType : type, let tag = EvergageTagType(name: name) else {
            return nil
        }
        self = .tag(tag)
    }
}

extension EvergageLocation {
    private static let members: [JSONMember<Self>] = [
        .double("latitude", \.latitude), .double("longitude", \.longitude), .text("city", \.city),
        .text("stateProvinceCode", \.stateProvinceCode), .text("postalCode", \.postalCode),
    ]

    /// The JSON form.
    public var json: [String: FlagValue] { Self.members.write(self) }

    /// Creates a location from its JSON form; `nil` if it names no place.
    public init?(json: FlagValue) {
        self.init()
        if Self.members.read(json.objectValue ?? [:], into: &self).isEmpty { return nil }
    }

    /// Returns the form inside an item; `nil` for a location that names no place or isn't on Earth.
    fileprivate func wire(_ notes: inout [WireNote]) -> FlagValue? {
        func lies(_ value: Double?, within range: ClosedRange<Double>) -> Bool { value.map(range.contains) ?? true }
        guard lies(latitude, within: -90...90), lies(longitude, within: -180...180) else {
            notes.append(.warning("the location is out of range and was left out"))
            return nil
        }
        if json.isEmpty { return nil }
        return .object(json)
    }
}
