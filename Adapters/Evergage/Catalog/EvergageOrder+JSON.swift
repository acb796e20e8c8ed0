import Experimentation
import Foundation

extension EvergageLineItem {
    /// The JSON form: the whole item and the quantity.
    public var json: [String: FlagValue] {
        var members: [String: FlagValue] = ["item": .object(item.json)]
        if let quantity, quantity.isFinite { members["quantity"] = .number(quantity) }
        return members
    }

    /// Creates a line from its JSON form; `nil` without an item.
    public init?(json: FlagValue) {
        guard let members = json.objectValue, let item = members["item"].flatMap(EvergageItem.init(json:)) else {
            return nil
        }
        self.init(item: item, quantity: members["quantity"]?.doubleValue)
    }

    /// Returns the form inside an event; throws for a line that must not be sent.
    func wire(_ notes: inout [EvergageNote]) throws(EvergageNote) -> FlagValue {
        guard item.kind == .product else { throw .error("a line whose item is not a product was dropped") }
        guard !item.id.isBlank else { throw .error("a line with a blank id was dropped") }
        let quantity = quantity ?? 1
        guard quantity.isFinite, quantity > 0 else {
            throw .error("a line whose quantity is not above zero was dropped")
        }
        var members: [String: FlagValue] = ["_id": .string(item.id), "quantity": .number(quantity)]
        members.set("name", item.name)
        members.set("price", item.price, &notes)
        if item.price == nil { notes.append(.warning("a line has no price")) }
        return .object(members)
    }
}

extension EvergageOrder {
    /// The JSON form.
    public var json: [String: FlagValue] {
        var members: [String: FlagValue] = [:]
        members.set("orderId", orderID)
        if let lineItems { members["lineItems"] = .array(lineItems.map { .object($0.json) }) }
        if let totalValue, totalValue.isFinite { members["totalValue"] = .number(totalValue) }
        members.set("totalValueCurrency", totalValueCurrency)
        return members
    }

    /// Creates an order from its JSON form; `nil` if it isn't an object.
    ///
    /// Invalid lines are skipped.
    public init?(json: FlagValue) {
        guard let members = json.objectValue else { return nil }
        self.init(
            orderID: members["orderId"]?.stringValue,
            lineItems: members["lineItems"]?.arrayValue?.compactMap(EvergageLineItem.init(json:)),
            totalValue: members["totalValue"]?.doubleValue,
            totalValueCurrency: members["totalValueCurrency"]?.stringValue
        )
    }
}

extension EvergageReview {
    /// The JSON form; a rating that is not whole or not from 1 to 100 is left out.
    public var json: [String: FlagValue] {
        var notes: [EvergageNote] = []
        return wire(itemID: itemID, &notes)
    }

    /// Creates a review from its JSON form; `nil` if it isn't an object.
    public init?(json: FlagValue) {
        guard let members = json.objectValue else { return nil }
        self.init(
            itemID: members["itemId"]?.stringValue,
            date: members["date"]?.epochMilliseconds,
            rating: members["rating"]?.doubleValue,
            title: members["title"]?.stringValue,
            content: members["content"]?.stringValue,
            userDisplayName: members["userDisplayName"]?.stringValue,
            purchased: members["purchased"]?.boolValue
        )
    }

    func wire(itemID: String?, _ notes: inout [EvergageNote]) -> [String: FlagValue] {
        var members: [String: FlagValue] = [:]
        members.set("itemId", itemID)
        members.set("date", date)
        if let rating {
            if let whole = Int(exactly: rating), (1...100).contains(whole) {
                members["rating"] = .int(whole)
            } else {
                notes.append(.warning("the rating is not a whole number from 1 to 100 and was left out"))
            }
        }
        members.set("title", title)
        members.set("content", content)
        members.set("userDisplayName", userDisplayName)
        members["purchased"] = purchased.map(FlagValue.bool)
        return members
    }
}
