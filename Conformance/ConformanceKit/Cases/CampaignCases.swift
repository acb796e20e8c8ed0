import Experimentation

extension ConformanceCase {
    /// More of promise 9: campaigns that answer events.
    static let campaigns: [ConformanceCase] = [
        ConformanceCase(
            "campaigns/answer-an-event",
            promise: 9,
            "A campaign in the answer to an event reaches the handler of its target",
            requires: [.campaigns, .tracking],
            needs: ["campaigns"],
            probes: .campaigns,
            world: .unadorned
        ) { probe in
            let inbox = CampaignInbox()
            let event = try await probe.eventWithBanner()
            let session = try await probe.session(for: .ada)
            try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
            try await probe.track(event, in: session)
            try await probe.deliverAll()
            try await probe.eventually("the campaign arrives") { await !inbox.campaigns.isEmpty }
            let campaign = try probe.unwrap(await inbox.campaigns.first, "the campaign")
            probe.expect(campaign.id, equals: "spring", "the campaign's id")
            probe.expect(campaign.name, equals: "Spring sale", "the campaign's name")
            probe.expect(campaign.experience.id, equals: "spring-a", "the experience")
            // Each vendor has its own words for the kinds of items.
            let promoted = campaign.promotedItems.values.flatMap { $0 }
            probe.expect(promoted, equals: ["teapot-7"], "the promoted items")
            probe.expect(campaign.isControlGroup, equals: false, "ada isn't in the control group")
            probe.expect(campaign.content["headline"], equals: "Teapots are 10 % off", "the headline")
        },
        ConformanceCase(
            "campaigns/control-group",
            promise: 9,
            "A user in a campaign's control group is reported as such",
            requires: [.campaigns, .tracking, .controlGroups],
            needs: ["campaigns"],
            probes: .controlGroups,
            world: .unadorned
        ) { probe in
            let inbox = CampaignInbox()
            let event = try await probe.eventWithBanner()
            let session = try await probe.session(for: .ben)
            try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
            try await probe.track(event, in: session)
            try await probe.deliverAll()
            try await probe.eventually("the campaign arrives") { await !inbox.campaigns.isEmpty }
            probe.expect(await inbox.campaigns.first?.isControlGroup, equals: true, "ben is in the control group")
        },
        ConformanceCase(
            "campaigns/late-handler",
            promise: 9,
            "A campaign that arrives before its handler is delivered once the handler is added",
            requires: [.campaigns, .tracking],
            needs: ["campaigns"],
            world: .unadorned
        ) { probe in
            let inbox = CampaignInbox()
            let event = try await probe.eventWithBanner()
            let session = try await probe.session(for: .ada)
            try await probe.track(event, in: session)
            try await probe.deliverAll()
            try await probe.eventually("the campaign is held") { !session.heldCampaigns().isEmpty }
            try session.setCampaignHandler(forTarget: "banner") { inbox.take($0) }
            try await probe.eventually("the campaign arrives") { await inbox.campaigns.count == 1 }
        },
        ConformanceCase(
            "campaigns/unsupported-is-said",
            promise: 9,
            "A vendor without campaigns rejects handlers with UNSUPPORTED; one with campaigns rejects a blank target",
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
            "Impressions, dismissals and clicks reach the vendor with the campaign's id",
            requires: [.campaigns, .tracking],
            needs: ["campaigns"],
            world: .unadorned
        ) { probe in
            let event = try await probe.eventWithBanner()
            let session = try await probe.session(for: .ada)
            try await probe.track(event, in: session)
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
}

extension World {
    /// The world of the banner without its campaign.
    fileprivate static let unadorned = World.banner.changing { $0.campaigns = [] }
}

extension Probe {
    /// Sets the vendor up to answer an event that it takes with the banner.
    ///
    /// - Returns: The event: a view of an item if possible, otherwise the first of the suite's events that the vendor
    ///   takes and can answer.
    /// - Throws: ``CaseDoesNotApply`` if it can answer none and doesn't declare campaigns.
    fileprivate func eventWithBanner() async throws -> TrackingEvent {
        let (name, roles) = (try await provider().name, try await roles())
        let taken = ([.viewItem(.mug)] + ConformanceCase.examples).filter { (try? roles.check($0, of: name)) != nil }
        var gap: WorldGap?
        for event in taken {
            let trigger = Received(Envelope(id: "", identity: User.ada.identity, event: event, date: time.now))
            let answering = world.changing { world in
                world.campaigns = World.banner.campaigns
                world.campaigns[0].trigger = trigger.type
                world.campaigns[0].triggerName = trigger.name
            }
            try await stage.change(to: answering)
            gap = await stage.gaps.first { $0.covers("campaigns") }
            guard gap != nil else {
                note("the vendor answers \(trigger.type) with a campaign")
                return event
            }
        }
        let found = try unwrap(gap, "an event that the vendor takes and a campaign may answer")
        if let message = subject.contradiction(among: [found], in: world, for: ["campaigns"]) {
            fail(message)
            throw CaseStopped()
        }
        throw CaseDoesNotApply(found.description)
    }
}

/// Collects campaigns on the main actor.
private final class CampaignInbox: Sendable {
    @MainActor var campaigns: [Campaign] = []
    @MainActor func take(_ campaign: Campaign) { campaigns.append(campaign) }
}
