extension CatalogItem {
    /// The names of the optional fields that have a value, for adapters that log what their vendor has no field for.
    ///
    /// The attributes aren't included; they have names of their own.
    package var givenFields: Set<String> {
        var names: Set<String> = categories.isEmpty ? [] : ["categories"]
        if name != nil { names.insert("name") }
        if price != nil { names.insert("price") }
        if currency != nil { names.insert("currency") }
        return names
    }
}

extension Order {
    /// The names of the optional fields that have a value, for adapters that log what their vendor has no field for.
    package var givenFields: Set<String> {
        let fields: [(name: String, isGiven: Bool)] = [
            ("id", id != nil), ("total", total != nil), ("currency", currency != nil),
            ("affiliation", affiliation != nil), ("coupon", coupon != nil), ("paymentMethod", paymentMethod != nil),
            ("shipping", shipping != nil), ("shippingMethod", shippingMethod != nil), ("tax", tax != nil),
        ]
        return Set(fields.filter(\.isGiven).map(\.name))
    }
}
