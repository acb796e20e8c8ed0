import AdapterKit
import Experimentation

extension EvergageLineItem {
    /// The members besides the id that describe a line's item in a cart or an order.
    private static let itemMembers: [JSONMember<EvergageItem>] = [.text("name", \.name), .number("price", \.price)]

    /// The JSON form: the whole item and the quantity.
    public var json: [String: FlagValue] {
        var members: [String: FlagValue] = ["item": .object(item.json)]
        if let quantity, quantity.isFinite { members["quantity"] = .number(quantity) }
        return members
    }

    /// Creates a line from its JSON form; `nil` without an item.
    public init?(json: FlagValue) {
        guard let item = json.objectValue?["item"].flatMap(EvergageItem.init(json:)) else { return nil }
        self.init(item: item, quantity: json.objectValue?["quantity"]?.doubleValue)
    }

    /// Returns the form inside an event; throws for a line that must not be sent.
    func wire(_ notes: inout [WireNote]) throws(WireNote) -> FlagValue {
        guard item.kind == .product else { throw .error("a line whose item is not a product was dropped") }
        guard !item.id.isBlank else { throw .error("a line with a blank id was dropped") }
        let quantity = quantity ?? 1
        guard quantity.isFinite, quantity > 0 else {
            throw .error("a line whose quantity is not above zero was dropped")
        }
        var members = Self.itemMembers.write(item, &notes)
        members["_id"] = .string(item.id)
        members["quantity"] = .number(quantity)
        if item.price == nil { notes.append(.warning("a line has no price")) }
        return .object(members)
    }
}

extension EvergageOrder {
    private static let members: [JSONMember<Self>] = [
        .text("orderId", \.orderID), .number("totalValue", \.totalValue, mayBeNegative: true),
        .text("totalValueCurrency", \.totalValueCurrency),
        JSONMember(
            "lineItems",
            \.lineItems,
            read: { $0.arrayValue?.compactMap(EvergageLineItem.init(json:)) },
            write: { lines, _ in .array(lines.map { .object($0.json) }) }
        ),
    ]

    /// The JSON form.
    public var json: [String: FlagValue] { Self.members.write(self) }

    /// Creates an order from its JSON form; `nil` if it isn't an object.
    ///
    /// Invalid lines are skipped.
    public init?(json: FlagValue) {
        guard let object = json.objectValue else { return nil }
        self.init()
        Self.members.read(object, into: &self)
    }
}

extension EvergageReview {
    private static let members: [JSONMember<Self>] = [
        .text("itemId", \.itemID), .date("date", \.date), .text("title", \.title), .text("content", \.content),
        .text("userDisplayName", \.userDisplayName), .bool("purchased", \.purchased),
        JSONMember("rating", \.rating, read: \.doubleValue) { rating, notes in
            if let whole = Int(exactly: rating), (1...100).contains(whole) { return .int(whole) }
            notes.append(.warning("the rating is not a whole number from 1 to 100 and was left out"))
            return nil
        },
    ]

    /// The JSON form; a rating that is not whole or not from 1 to 100 is left out.
    public var json: [String: FlagValue] { Self.members.write(self) }

    /// Creates a review from its JSON form; `nil` if it isn't an object.
    public init?(json: FlagValue) {
        guard let object = json.objectValue else { return nil }
        self.init()
        Self.members.read(object, into: &self)
    }

    /// Returns the form inside an event about an item.
    func wire(itemID: String, _ notes: inout [WireNote]) -> FlagValue {
        var review = self
        review.itemID = itemID
        return .object(Self.members.write(review, &notes))
    }
}
