/// What the vendor knows of a user.
struct EvergageProfile: Sendable, Hashable {
    struct Order: Sendable, Hashable {
        var id: String?
        var value: Double
        var currency: String
        var lines: [EvergageLine]
    }

    var attributes: [String: EvergageJSON] = [:]
    var accountID: String?
    var accountAttributes: [String: EvergageJSON] = [:]
    /// The cart's lines, in the order in which the items were first added.
    var cart: [EvergageLine] = []
    var orders: [Order] = []
    var stats: [EvergageEvent.Stat] = []
    /// View time in milliseconds, by `Type/id`.
    var viewTime: [String: Int] = [:]
    var actions: [String] = []
    var pushTokens: [String: String] = [:]
    /// Attributes that were received without being declared, as `user.name` and `account.name`.
    var undeclared: Set<String> = []
    var visits = 0
    /// When the last event that counts towards visits arrived, in milliseconds since 1970.
    var lastInteraction: Double?

    /// A visit ends after 30 minutes without an event.
    private static let visitTimeout: Double = 30 * 60 * 1000

    mutating func interacted(at time: Double) {
        if lastInteraction.map({ time - $0 >= Self.visitTimeout }) ?? true { visits += 1 }
        lastInteraction = max(lastInteraction ?? time, time)
    }

    /// Merges attributes: `null` deletes, anything else replaces; undeclared attributes are skipped.
    mutating func update(_ event: EvergageEvent, declared: EvergageWorld.Declared? = nil) {
        for (name, value) in event.json["user"]?["attributes"]?.object ?? [:] {
            guard declared?.user.contains(name) ?? true else {
                undeclared.insert("user.\(name)")
                continue
            }
            attributes[name] = value == .null ? nil : value
        }
        if let account = event.json["account"]?["id"]?.text { accountID = account }
        for (name, value) in event.json["account"]?["attributes"]?.object ?? [:] {
            guard declared?.account.contains(name) ?? true else {
                undeclared.insert("account.\(name)")
                continue
            }
            accountAttributes[name] = value == .null ? nil : value
        }
        if let token = event.json["pushToken"], let type = token["type"]?.text, let value = token["value"]?.text {
            pushTokens[type] = value
        }
        if let action = event.action { actions.append(action) }
        stats += event.stats
    }

    // MARK: The cart

    mutating func changeCart(_ event: EvergageEvent) {
        switch (event.itemAction, event.singleLine) {
        case (.addToCart, let line?): add(line)
        case (.removeFromCart, let line?):
            guard let index = cart.firstIndex(where: { $0.id == line.id }) else { return }
            cart[index].quantity -= line.quantity
            if cart[index].quantity <= 0 { cart.remove(at: index) }
        case (.updateLineItem, let line?):
            guard let index = cart.firstIndex(where: { $0.id == line.id }) else { return }
            if line.quantity == 0 {
                cart.remove(at: index)
            } else {
                cart[index].quantity = line.quantity
                cart[index].price = line.price ?? cart[index].price
            }
        case (.viewCart, _):
            guard let lines = event.completeCart else { return }
            cart = []
            for line in lines where line.quantity > 0 { add(line) }
        default: return
        }
    }

    mutating func add(_ line: EvergageLine) {
        if let index = cart.firstIndex(where: { $0.id == line.id }) {
            cart[index].quantity += line.quantity
            cart[index].price = line.price ?? cart[index].price
        } else {
            cart.append(line)
        }
    }

    /// Records an order; an order without lines takes the cart's lines.
    mutating func buy(_ purchase: EvergagePurchase, defaultCurrency: String) {
        let lines = purchase.lines.isEmpty ? cart : purchase.lines
        let total = purchase.totalValue ?? 0
        guard !lines.isEmpty || total > 0 else { return }
        orders.append(
            Order(
                id: purchase.orderID,
                value: total != 0 ? total : lines.reduce(0) { $0 + $1.quantity * ($1.price ?? 0) },
                currency: purchase.currency ?? defaultCurrency,
                lines: lines
            )
        )
        cart = []
    }

    /// Merges the same person's anonymous profile; the named profile's values win.
    mutating func absorb(_ anonymous: EvergageProfile) {
        attributes.merge(anonymous.attributes) { named, _ in named }
        accountID = accountID ?? anonymous.accountID
        accountAttributes.merge(anonymous.accountAttributes) { named, _ in named }
        for line in anonymous.cart { add(line) }
        orders = anonymous.orders + orders
        stats = anonymous.stats + stats
        actions = anonymous.actions + actions
        viewTime.merge(anonymous.viewTime, uniquingKeysWith: +)
        pushTokens.merge(anonymous.pushTokens) { named, _ in named }
        undeclared.formUnion(anonymous.undeclared)
        visits += anonymous.visits
        lastInteraction = [lastInteraction, anonymous.lastInteraction].compactMap { $0 }.max()
    }
}

// MARK: - For the control plane

extension EvergageProfile {
    var json: EvergageJSON {
        func line(_ line: EvergageLine) -> EvergageJSON {
            var object: [String: EvergageJSON] = ["_id": .string(line.id), "quantity": .number(line.quantity)]
            object["price"] = line.price.map(EvergageJSON.number)
            return .object(object)
        }
        var result: [String: EvergageJSON] = [
            "attributes": .object(attributes),
            "accountAttributes": .object(accountAttributes),
            "cart": .array(cart.map(line)),
            "orders": .array(
                orders.map { order in
                    .object([
                        "orderId": order.id.map(EvergageJSON.string) ?? .null,
                        "totalValue": .number(order.value),
                        "currency": .string(order.currency),
                        "lineItems": .array(order.lines.map(line)),
                    ])
                }
            ),
            "stats": .array(
                stats.map {
                    .object([
                        "experienceId": .string($0.experienceID), "stat": .string($0.stat),
                        "control": .bool($0.isControl),
                    ])
                }
            ),
            "distinctStats": .number(Double(Set(stats.map { [$0.experienceID, $0.stat] }).count)),
            "viewTimeMillis": .object(viewTime.mapValues { .number(Double($0)) }),
            "actions": EvergageJSON(actions),
            "undeclaredAttributes": EvergageJSON(undeclared.sorted()),
            "pushTokens": .object(pushTokens.mapValues(EvergageJSON.string)),
            "visits": .number(Double(visits)),
        ]
        result["accountId"] = accountID.map(EvergageJSON.string)
        return .object(result)
    }
}
