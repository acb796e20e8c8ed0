import Experimentation
import Foundation

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
        guard var members = json.objectValue, let type = members["type"]?.stringValue,
            let id = members["_id"]?.stringValue,
            let kind = Kind(type: type, tagType: members["tagType"]?.stringValue), !id.isBlank
        else { return nil }
        self.init(kind, id: id, name: members["name"]?.stringValue)
        tags = Self.items(json: members["tags"] ?? []) ?? []
        if kind == .product {
            price = members["price"]?.doubleValue
            currency = members["currency"]?.stringValue
        }
        if kind.hasCategories { categories = Self.items(json: members["categories"] ?? []) ?? [] }
        take(&members)
    }

    /// Sets the fields that are written in one way only, as far as this kind has them, and removes what it has read.
    mutating func take(_ members: inout [String: FlagValue]) {
        itemDescription = members.take("description", \.stringValue)
        url = members.take("url", \.stringValue)
        imageURL = members.take("imageUrl", \.stringValue)
        published = members.take("published", \.itemDate)
        expiration = members.take("expiration", \.itemDate)
        promotionState = members.take("promotionState", PromotionState.init(json:)) ?? .undefined
        location = members.take("location", EvergageLocation.init(json:))
        rating = members.take("rating", \.doubleValue)
        numRatings = members.take("numRatings", \.intValue)
        switch kind {
        case .product:
            priceDescription = members.take("priceDescription", \.stringValue)
            listPrice = members.take("listPrice", \.doubleValue)
            inventoryCount = members.take("inventoryCount", \.intValue)
            alternateID = members.take("alternateId", \.stringValue)
        case .article, .blog:
            modifiedDate = members.take("modifiedDate", \.itemDate)
            subTitle = members.take("subTitle", \.stringValue)
        case .category: isDepartment = members.take("department", \.boolValue) ?? false
        case .tag: break
        }
    }

    /// Creates items from a JSON list; invalid entries are skipped.
    ///
    /// - Returns: The items, or `nil` if it isn't a list.
    public static func items(json: FlagValue) -> [EvergageItem]? {
        json.arrayValue.map { $0.compactMap(EvergageItem.init(json:)) }
    }

    /// Returns the form inside an event, where the type's name surrounds it, with notes on what was left out.
    func catalogJSON() -> (members: [String: FlagValue], notes: [EvergageNote]) {
        var members: [String: FlagValue] = ["_id": .string(id)]
        var notes: [EvergageNote] = []
        members.set("name", name)
        members.set("description", itemDescription)
        members.set("url", url)
        members.set("imageUrl", imageURL)
        members.set("published", published)
        members.set("expiration", expiration)
        if promotionState != .undefined { members["promotionState"] = .string(promotionState.wireName) }
        if let location, !location.json.isEmpty {
            if location.isOnEarth {
                members["location"] = .object(location.json)
            } else {
                notes.append(.warning("the location is out of range and was left out"))
            }
        }
        members.set("rating", rating, mayBeNegative: true, &notes)
        members.set("numRatings", numRatings, &notes)
        members.set("tags", tags.filter(\.isTag), &notes)
        switch kind {
        case .product:
            members.set("price", price, &notes)
            members.set("priceDescription", priceDescription)
            members.set("listPrice", listPrice, &notes)
            members.set("currency", currency?.unlessBlank)
            members.set("inventoryCount", inventoryCount, &notes)
            members.set("alternateId", alternateID)
        case .article, .blog:
            members.set("modifiedDate", modifiedDate)
            members.set("subTitle", subTitle)
        case .category:
            if isDepartment { members["department"] = true }
        case .tag: break
        }
        if kind.hasCategories { members.set("categories", categories.filter { $0.kind == .category }, &notes) }
        return (members, notes)
    }

    fileprivate var isTag: Bool {
        if case .tag = kind { true } else { false }
    }
}

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

    fileprivate var code: String {
        if case .tag = self { "t" } else { typeName.prefix(1).lowercased() }
    }

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

    /// Whether items of the kind may have categories.
    var hasCategories: Bool {
        switch self {
        case .product, .article, .blog: true
        case .category, .tag: false
        }
    }
}

extension EvergageItem.PromotionState {
    /// Creates a state from its written form; `nil` for one that the vendor doesn't have.
    fileprivate init?(json: FlagValue) {
        guard let state = Self.allCases.first(where: { json == .string($0.wireName) }) else { return nil }
        self = state
    }

    fileprivate var wireName: String {
        switch self {
        case .undefined: "Undefined"
        case .prioritized: "Prioritized"
        case .excluded: "Excluded"
        }
    }
}

extension EvergageLocation {
    var isOnEarth: Bool {
        func lies(_ value: Double?, within range: ClosedRange<Double>) -> Bool { value.map(range.contains) ?? true }
        return lies(latitude, within: -90...90) && lies(longitude, within: -180...180)
    }

    /// The JSON form.
    public var json: [String: FlagValue] {
        var members: [String: FlagValue] = [:]
        members["latitude"] = latitude.map(FlagValue.double)
        members["longitude"] = longitude.map(FlagValue.double)
        members.set("city", city)
        members.set("stateProvinceCode", stateProvinceCode)
        members.set("postalCode", postalCode)
        return members
    }

    /// Creates a location from its JSON form; `nil` if it says nothing of a place.
    public init?(json: FlagValue) {
        guard let members = json.objectValue else { return nil }
        self.init()
        latitude = members["latitude"]?.doubleValue
        longitude = members["longitude"]?.doubleValue
        city = members["city"]?.stringValue
        stateProvinceCode = members["stateProvinceCode"]?.stringValue
        postalCode = members["postalCode"]?.stringValue
        if self.json.isEmpty { return nil }
    }
}

// MARK: - Building blocks

extension String {
    /// Whether the string is only white space.
    var isBlank: Bool { allSatisfy(\.isWhitespace) }
    /// The string, or `nil` if it is blank.
    var unlessBlank: String? { isBlank ? nil : self }
}

extension FlagValue {
    /// The date this many milliseconds after 1970, limited to a range that can be printed.
    var epochMilliseconds: Date? {
        guard let number = doubleValue, abs(number) < 1e14 else { return nil }
        return Date(timeIntervalSince1970: number / 1000)
    }

    /// A date in an item: milliseconds since 1970 as on the wire, or ISO 8601, which a date is as an attribute.
    fileprivate var itemDate: Date? {
        if let date = epochMilliseconds { return date }
        guard let text = stringValue else { return nil }
        let date = [true, false].lazy
            .compactMap { try? Date.ISO8601FormatStyle(includingFractionalSeconds: $0).parse(text) }.first
        return date?.epochMilliseconds == nil ? nil : date
    }

    /// Returns a number in its best JSON form: an integer where nothing is lost.
    static func number(_ value: Double) -> FlagValue {
        Int(exactly: value).map(FlagValue.int) ?? .double(value)
    }
}

extension Date {
    /// Whole milliseconds since 1970; `nil` for a date so far away that it must be a mistake.
    var epochMilliseconds: Int? {
        let number = (timeIntervalSince1970 * 1000).rounded()
        return abs(number) < 1e14 ? Int(exactly: number) : nil
    }
}

extension [String: FlagValue] {
    /// Removes a member and returns its value; one that can't be read stays.
    mutating func take<Output>(_ name: String, _ read: (FlagValue) -> Output?) -> Output? {
        guard let value = self[name].flatMap(read) else { return nil }
        self[name] = nil
        return value
    }

    mutating func set(_ name: String, _ text: String?) {
        if let text { self[name] = .string(text) }
    }

    mutating func set(_ name: String, _ date: Date?) {
        if let milliseconds = date?.epochMilliseconds { self[name] = .int(milliseconds) }
    }

    mutating func set(_ name: String, _ number: Double?, mayBeNegative: Bool = false, _ notes: inout [EvergageNote]) {
        guard let number else { return }
        guard number.isFinite, mayBeNegative || number >= 0 else {
            notes.append(.warning("\(name) is negative or not a number and was left out"))
            return
        }
        self[name] = .number(number)
    }

    mutating func set(_ name: String, _ number: Int?, _ notes: inout [EvergageNote]) {
        guard let number else { return }
        guard number >= 0 else {
            notes.append(.warning("\(name) is negative and was left out"))
            return
        }
        self[name] = .int(number)
    }

    fileprivate mutating func set(_ name: String, _ items: [EvergageItem], _ notes: inout [EvergageNote]) {
        let good = items.filter { !$0.id.isBlank }
        if good.count < items.count { notes.append(.warning("\(name): entries with a blank id were left out")) }
        guard !good.isEmpty else { return }
        self[name] = .array(
            good.map { item in
                // A tag or a category inside an item is only a name for it.
                var members: [String: FlagValue] = ["type": .string(item.kind.code), "_id": .string(item.id)]
                if case .tag(let type) = item.kind { members["tagType"] = .string(type.name) }
                members.set("name", item.name)
                return .object(members)
            }
        )
    }
}
