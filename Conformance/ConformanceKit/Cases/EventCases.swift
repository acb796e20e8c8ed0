import Experimentation
import Foundation

extension ConformanceCase {
    /// Promise 11 for every type of event: what the vendor supports arrives complete, and the rest is refused.
    static let events: [ConformanceCase] =
        examples.map { example in
            ConformanceCase(
                "events/\(example.type)",
                promise: 11,
                "\(example.type) arrives once with its fields, or is rejected with UNSUPPORTED",
                requires: [.tracking],
                world: .shop
            ) { probe in
                let client = try await probe.client()
                let session = try await probe.session(for: known)
                // Offline, so that the event is late, and its time is neither the machine's nor the time of its
                // delivery.
                await client.setConnectivity(.offline)
                probe.push(.seconds(7_200))
                let happened = probe.time.now
                try await probe.trackOrExcuse(example, in: session)
                probe.push(.seconds(1_800))
                await client.setConnectivity(.online)
                let ledger = try await probe.deliverAll()
                if ledger == Ledger(), !probe.subject.capabilitiesOfOthers.isEmpty {
                    let elsewhere = try await client.ledger()
                    let all = Ledger(accepted: max(1, elsewhere.accepted), delivered: max(1, elsewhere.accepted))
                    probe.expect(elsewhere, equals: all, "the ledgers of others")
                    throw CaseDoesNotApply("the vendor that answers has no word for it; another one has taken it")
                }
                probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
                try await expect(example, at: happened, probe)
            }
        } + [
            ConformanceCase(
                "events/attributes-of-an-event",
                promise: 11,
                "An event's attributes reach the vendor",
                requires: [.tracking],
                fields: [.attributes],
                world: .shop
            ) { probe in
                let session = try await probe.session()
                var event = try await probe.event(1)
                event.attributes = event.attributes.merging(["colour": "red", "size": 3])
                try await probe.track(event, in: session)
                try await probe.deliverAll()
                let seen = try probe.unwrap(try await probe.received().first?.attributes, "the event")
                probe.expect(seen["colour"]?.stringValue, equals: "red", "colour")
                probe.expect(
                    seen["size"]?.doubleValue == 3 || seen["size"]?.stringValue == "3",
                    "size: \(String(describing: seen["size"]))"
                )
            },
            ConformanceCase(
                "events/attributes-of-every-type",
                promise: 11,
                "An event's Boolean, decimal, integer and string attributes arrive unchanged",
                requires: [.tracking],
                fields: [.attributes],
                world: .shop
            ) { probe in
                let sent: [String: FlagValue] = [
                    "gift": true, "used": false, "weight": 17.5, "size": -3, "colour": "red",
                ]
                let seen = try await probe.attributes(sent)
                for (name, value) in sent.sorted(by: { $0.key < $1.key }) {
                    // Some wires carry only texts.
                    let isSame =
                        seen[name] == value || seen[name]?.stringValue == value.stringValue ?? value.description
                    probe.expect(isSame, "\(name): \(String(describing: seen[name])) instead of \(value)")
                }
            },
            ConformanceCase(
                "events/attributes-with-parts",
                promise: 11,
                "An event's null, list and object attributes arrive complete",
                requires: [.tracking],
                fields: [.attributes],
                world: .shop
            ) { probe in
                let sent: [String: FlagValue] = [
                    "nothing": .null, "sizes": [1, 2.5, "XL", .null],
                    "parcel": ["weight": 17.5, "gift": true, "of": [1]],
                ]
                let seen = try await probe.attributes(sent)
                for (name, value) in sent.sorted(by: { $0.key < $1.key }) {
                    probe.expect(seen[name], equals: value, name)
                }
            },
            ConformanceCase(
                "events/odd-texts",
                promise: 11,
                "Quotes, angle brackets, line feeds and emoji in an event arrive unchanged",
                requires: [.tracking],
                fields: [.name],
                world: .shop
            ) { probe in
                let name = "mark-1 \"a\" <b> & 'c' ]]> Größe 🫖 %20 +"
                let session = try await probe.session()
                let candidates: [TrackingEvent] = [
                    .custom(name), .screenView(name), .goalCompleted(name), .goalAbandoned(name),
                ]
                let roles = try await probe.roles()
                guard let event = candidates.first(where: { (try? roles.check($0, of: "any")) != nil }) else {
                    throw CaseDoesNotApply("\(probe.subject.name) takes no such names")
                }
                try await probe.track(event, in: session)
                try await probe.deliverAll()
                probe.expect(try await probe.received().first?.name, equals: name, "the name")
            },
        ]

    /// One event of each type that applications track themselves.
    package static let examples: [TrackingEvent] = [
        .custom("spun-wheel", value: 3), .screenView("home"), .pageView("https://shop.example/tea?a=1&b=2"),
        .goalCompleted("newsletter"), .goalAbandoned("newsletter"), .viewItem(.mug), .viewItemDetail(.teapot),
        .viewCategory(CatalogItem(id: "kitchen", kind: .category, name: "Kitchen")),
        .viewTag(CatalogItem(id: "blue", kind: .tag, name: "Blue")), .addToCart(LineItem(item: .mug, quantity: 2)),
        .removeFromCart(LineItem(item: .mug)), .replaceCart([LineItem(item: .mug), LineItem(item: .teapot)]),
        .purchase(
            Order(
                id: "order-77",
                lines: [LineItem(item: .mug, quantity: 2), LineItem(item: .teapot)],
                // Paid with a discount; converting it to a double in several steps results in another number.
                total: Decimal(sign: .plus, exponent: -2, significand: 1999),
                currency: "EUR"
            )
        ),
        .review(.teapot, Review(rating: 80, title: "Good", content: "It pours.", author: "ada")), .share(.teapot),
        .comment(.teapot), .favorite(.teapot), .installed, .sessionStarted, .sessionEnded(seconds: 61),
        .notificationReceived(NotificationContent(message: "Sale!", callToAction: "Look")),
        .notificationOpened(NotificationContent(message: "Sale!", callToAction: "Look")),
    ]

    /// A user with an id and an id from before the user was known.
    private static let known = User(
        id: "ada",
        anonymousID: "guest-1",
        isAuthenticated: true,
        attributes: User.ada.attributes,
        consent: .granted
    )

    private static func expect(_ event: TrackingEvent, at happened: Date, _ probe: Probe) async throws {
        let received = try await probe.received()
        let ideal = Received(Envelope(id: "", identity: known.identity, event: event, date: happened))
        let seen = try probe.unwrap(received.first, "what the vendor took")
        let fields = probe.subject.wireFields
        let type = probe.subject.wireTypes[event.type] ?? event.type
        probe.expect(seen.type, equals: type, "the type")
        probe.expect(received.count { $0.type == type }, equals: 1, "how often the vendor took it")
        if fields.contains(.userID) { probe.expect(seen.userID, equals: "ada", "the user's id") }
        if fields.contains(.anonymousID) { probe.expect(seen.anonymousID, equals: "guest-1", "the anonymous id") }
        if fields.contains(.date) {
            let date = try probe.unwrap(probe.date(of: seen), "the time on the wire")
            let difference = abs(date.timeIntervalSince(happened))
            probe.expect(difference < 30, "the time on the wire is \(difference) s off")
        }
        if fields.contains(.name), let name = ideal.name { probe.expect(seen.name, equals: name, "the name") }
        if fields.contains(.value), let value = ideal.value { probe.expect(seen.value, equals: value, "the value") }
        if fields.contains(.orderID), let id = ideal.orderID {
            probe.expect(seen.orderID, equals: id, "the order's id")
        }
        if fields.contains(.items), !ideal.items.isEmpty {
            let items = received.flatMap(\.items).sorted()
            probe.expect(items, equals: ideal.items.sorted(), "the items")
        }
    }
}

extension Probe {
    /// Tracks an event; what the vendor has no equivalent for is refused as UNSUPPORTED, and leaves no trace.
    ///
    /// - Throws: ``CaseDoesNotApply`` if it is refused in this way.
    fileprivate func trackOrExcuse(_ event: TrackingEvent, in session: UserSession) async throws {
        note("track \(event.type) for \(session.user.id)")
        var refusal: ExperimentationError?
        do throws(ExperimentationError) { try await session.track(event) } catch { refusal = error }
        guard let refusal else { return }
        guard refusal.code == .unsupported else { throw refusal }
        let ledger = try await ledger()
        expect(ledger, equals: Ledger(), "the ledger after a refusal")
        throw CaseDoesNotApply(refusal.message)
    }

    /// The attributes that arrive with an event to which the application added some.
    ///
    /// - Throws: ``CaseDoesNotApply`` if the vendor has no equivalent for such attributes.
    fileprivate func attributes(_ attributes: [String: FlagValue]) async throws -> [String: FlagValue] {
        let session = try await session()
        var event = try await event(1)
        event.attributes = event.attributes.merging(Attributes(attributes))
        try await trackOrExcuse(event, in: session)
        try await deliverAll()
        return try unwrap(try await received().first?.attributes, "the event")
    }
}
