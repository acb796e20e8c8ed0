import Experimentation
import Foundation

extension ConformanceCase {
    /// Promise 11 for every type of event: what the vendor supports arrives complete, and the rest is refused.
    static let events: [ConformanceCase] =
        examples.map { example in
            ConformanceCase(
                "events/\(example.type)",
                promise: 11,
                "\(example.type) arrives once with what belongs to it, or is refused as UNSUPPORTED",
                requires: [.tracking],
                world: .shop
            ) { probe in
                let session = try await probe.session()
                do throws(ExperimentationError) {
                    try await session.track(example)
                } catch  where error.code == .unsupported {
                    let ledger = try await probe.ledger()
                    probe.expect(ledger, equals: Ledger(), "the ledger after a refusal")
                    throw CaseDoesNotApply(error.message)
                }
                let ledger = try await probe.deliverAll()
                if ledger == Ledger(), !probe.subject.capabilitiesOfOthers.isEmpty {
                    let elsewhere = try await probe.client().ledger()
                    let all = Ledger(accepted: max(1, elsewhere.accepted), delivered: max(1, elsewhere.accepted))
                    probe.expect(elsewhere, equals: all, "the ledgers of others")
                    throw CaseDoesNotApply("whoever answers has no word for it; another vendor has taken it")
                }
                probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
                try await expect(example, probe)
            }
        } + [
            ConformanceCase(
                "events/attributes-of-an-event",
                promise: 11,
                "What an application adds to an event reaches the vendor",
                requires: [.tracking],
                fields: [.attributes],
                world: .shop
            ) { probe in
                let session = try await probe.session()
                var event = try await probe.event(1)
                event.attributes = ["colour": "red", "size": 3]
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
                "events/odd-texts",
                promise: 11,
                "Quotes, angle brackets, line feeds and emoji in an event arrive as they are",
                requires: [.tracking],
                fields: [.name],
                world: .shop
            ) { probe in
                let name = "mark-1 \"a\" <b> & 'c' ]]> Größe 🫖 %20 +"
                let session = try await probe.session()
                let candidates: [TrackingEvent] = [.custom(name), .screenView(name), .goalCompleted(name)]
                let roles = try await probe.roles()
                guard let event = candidates.first(where: { (try? roles.check($0, of: "any")) != nil }) else {
                    throw CaseDoesNotApply("\(probe.subject.name) takes no such names")
                }
                try await probe.track(event, in: session)
                try await probe.deliverAll()
                probe.expect(try await probe.received().first?.name, equals: name, "the name")
            },
            ConformanceCase(
                "campaigns/answer-an-event",
                promise: 9,
                "A campaign that an event brings reaches the handler of its target",
                requires: [.campaigns, .tracking],
                needs: ["campaigns"],
                probes: .campaigns,
                world: .banner
            ) { probe in
                let inbox = CampaignInbox()
                let session = try await probe.session(for: .ada)
                try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
                try await probe.track(.viewItem(.mug), in: session)
                try await probe.deliverAll()
                try await probe.eventually("the campaign arrives") { await !inbox.campaigns.isEmpty }
                let campaign = try probe.unwrap(await inbox.campaigns.first, "the campaign")
                probe.expect(campaign.id, equals: "spring", "the campaign's id")
                probe.expect(campaign.isControlGroup, equals: false, "ada isn't in the control group")
                probe.expect(campaign.content["headline"], equals: "Teapots are 10 % off", "the headline")
            },
            ConformanceCase(
                "campaigns/control-group",
                promise: 9,
                "A user of the control group is told so",
                requires: [.campaigns, .tracking, .controlGroups],
                needs: ["campaigns"],
                probes: .controlGroups,
                world: .banner
            ) { probe in
                let inbox = CampaignInbox()
                let session = try await probe.session(for: .ben)
                try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
                try await probe.track(.viewItem(.mug), in: session)
                try await probe.deliverAll()
                try await probe.eventually("the campaign arrives") { await !inbox.campaigns.isEmpty }
                probe.expect(await inbox.campaigns.first?.isControlGroup, equals: true, "ben is in the control group")
            },
            ConformanceCase(
                "campaigns/late-handler",
                promise: 9,
                "A campaign that came before its handler is handed over when the handler comes",
                requires: [.campaigns, .tracking],
                needs: ["campaigns"],
                world: .banner
            ) { probe in
                let inbox = CampaignInbox()
                let session = try await probe.session(for: .ada)
                try await probe.track(.viewItem(.mug), in: session)
                try await probe.deliverAll()
                try await probe.eventually("the campaign is held") { !session.heldCampaigns().isEmpty }
                try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
                try await probe.eventually("the campaign arrives") { await inbox.campaigns.count == 1 }
            },
            ConformanceCase(
                "campaigns/unsupported-is-said",
                promise: 9,
                "A vendor without campaigns refuses handlers with UNSUPPORTED; one with campaigns refuses a blank target",
                isSafeLive: true,
                world: .empty
            ) { probe in
                let session = try await probe.session()
                if probe.subject.capabilities.contains(.campaigns) {
                    await probe.expectError("a blank target", .invalidArgument) {
                        try session.setCampaignHandler(forTarget: " ") { _ in }
                    }
                } else if probe.subject.capabilitiesOfOthers.contains(.campaigns) {
                    throw CaseDoesNotApply("handlers wait for another vendor behind this one")
                } else {
                    await probe.expectError("a handler", .unsupported) {
                        try session.setCampaignHandler(forTarget: "banner") { _ in }
                    }
                }
            },
            ConformanceCase(
                "campaigns/impression-reaches-the-vendor",
                promise: 9,
                "That a campaign was shown, dismissed and clicked reaches the vendor with the campaign's id",
                requires: [.campaigns, .tracking],
                needs: ["campaigns"],
                world: .banner
            ) { probe in
                let session = try await probe.session(for: .ada)
                try await probe.track(.viewItem(.mug), in: session)
                try await probe.deliverAll()
                try await probe.eventually("the campaign is held") { !session.heldCampaigns().isEmpty }
                let campaign = try probe.unwrap(session.heldCampaigns().first, "the campaign")
                try await probe.track(.campaignImpression(campaign), in: session)
                try await probe.track(.campaignDismissal(campaign), in: session)
                try await probe.track(.campaignClick(campaign), in: session)
                try await probe.deliverAll()
                let types = ["campaignImpression", "campaignDismissal", "campaignClick"]
                let seen = try await probe.received().filter { types.contains($0.type) }
                probe.expect(seen.map(\.type), equals: types, "what the vendor took")
                probe.expect(Set(seen.map(\.campaign)), equals: ["spring"], "the campaign's id")
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
                total: Decimal(sign: .plus, exponent: -1, significand: 649),
                currency: "EUR"
            )
        ),
        .review(.teapot, Review(rating: 80, title: "Good", content: "It pours.", author: "ada")), .share(.teapot),
        .comment(.teapot), .favorite(.teapot), .installed, .sessionStarted, .sessionEnded(seconds: 61),
        .notificationReceived(NotificationContent(message: "Sale!", callToAction: "Look")),
        .notificationOpened(NotificationContent(message: "Sale!", callToAction: "Look")),
    ]

    private static func expect(_ event: TrackingEvent, _ probe: Probe) async throws {
        let received = try await probe.received()
        let ideal = Received(Envelope(id: "", identity: Identity(id: "ada"), event: event, date: probe.time.now))
        let seen = try probe.unwrap(received.first, "what the vendor took")
        let fields = probe.subject.wireFields
        let type = probe.subject.wireTypes[event.type] ?? event.type
        probe.expect(seen.type, equals: type, "the type")
        probe.expect(received.count { $0.type == type }, equals: 1, "how often the vendor took it")
        if fields.contains(.userID) { probe.expect(seen.userID, equals: "ada", "the user's id") }
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

/// Collects campaigns on the main actor.
private final class CampaignInbox: Sendable {
    @MainActor var campaigns: [Campaign] = []
    @MainActor func take(_ campaign: Campaign) { campaigns.append(campaign) }
}
