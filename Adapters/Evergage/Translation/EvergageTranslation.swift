import AdapterKit
import Experimentation

/// Translates neutral types into the vendor's, and back; only this file and `EvergageTranslation+Items` know both.
enum EvergageTranslation {
    /// The native events of this adapter.
    enum Native {
        /// An event in the vendor's own shape.
        static let event = "evergage.event"
        /// The view time of an item.
        static let viewTime = "evergage.viewTime"
    }

    // MARK: Events out

    /// Returns the vendor's event for a neutral one.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for an event that the vendor doesn't have, ``ErrorCode/invalidArgument`` for
    ///   one that it wouldn't take.
    static func action(for event: TrackingEvent) throws(ExperimentationError) -> EvergageAction {
        do throws(WireNote) {
            var unread: Set<String> = []
            var action = try known(event.kind, unread: &unread)
            action.notes.leaveOut("its items' attributes", unread)
            if case .purchase(let order) = event.kind {
                action.notes.leaveOut("its fields", order.givenFields.subtracting(["id", "total", "currency"]))
            }
            action.notes.leaveOut("its attributes", Set(event.attributes.values.keys))
            return action
        } catch {
            throw ExperimentationError(error.level == .debug ? .unsupported : .invalidArgument, error.text)
        }
    }

    /// Returns the vendor's event, and the names of the items' attributes that it doesn't carry.
    private static func known(
        _ kind: TrackingEvent.Kind,
        unread: inout Set<String>
    ) throws(WireNote) -> EvergageAction {
        /// Returns the error for something that the vendor can't represent.
        func unsupported(_ what: String) -> WireNote {
            WireNote(level: .debug, text: "evergage has no \(what).")
        }
        func item(_ item: CatalogItem, as kind: EvergageItem.Kind? = nil) -> EvergageItem {
            EvergageItem(item, as: kind, unread: &unread)
        }
        func line(_ line: LineItem, in currency: String? = nil) -> EvergageLineItem {
            // On the wire, a line carries only its item's id, name and price.
            unread.formUnion(line.item.attributes.values.filter { $0.value != .null }.keys)
            if !line.item.categories.isEmpty { unread.insert("categories") }
            if let own = line.item.currency, own != currency { unread.insert("currency") }
            return EvergageLineItem(item: item(line.item), quantity: Double(line.quantity))
        }
        let endOfView = "end of a view in the neutral API: EvergageContext measures view time and ends it"
        switch kind {
        case .custom(let name, let value):
            var action = try EvergageAction.custom(name)
            if value != nil { action.notes.leaveOut("its value") }
            return action
        case .screenView(let name): return try .page(name, source: ["pageType": .string(name)])
        case .pageView(let url): return try .page("Page View", source: ["url": .string(url)])
        case .viewItem(let viewed?): return try .activity(.viewItem, item(viewed))
        case .viewItemDetail(let viewed?): return try .activity(.viewItemDetail, item(viewed))
        case .viewCategory(let viewed?): return try .activity(.viewCategory, item(viewed, as: .category))
        case .viewTag(let viewed?):
            return try .activity(.viewTag, item(viewed, as: .tag(EvergageTagType(viewed))))
        case .viewItem(nil), .viewItemDetail(nil), .viewCategory(nil), .viewTag(nil): throw unsupported(endOfView)
        case .addToCart(let added): return try .changeCart(line(added), isRemoval: false)
        case .removeFromCart(let removed): return try .changeCart(line(removed), isRemoval: true)
        case .replaceCart(let lines): return try .viewCart(EvergageOrder(lineItems: lines.map { line($0) }))
        case .purchase(let order):
            return try .purchase(EvergageOrder(order, lineItems: order.lines.map { line($0, in: order.currency) }))
        case .review(let reviewed, let review): return try .review(item(reviewed), review.map { .init($0) })
        case .share(let shared): return try .activity(.share, item(shared))
        case .comment(let commented): return try .activity(.comment, item(commented))
        case .favorite(let favorite): return try .activity(.favorite, item(favorite))
        case .installed: return try .custom("App Install")
        case .sessionStarted: return try .custom("App Launch")
        case .campaignImpression(let campaign): return try .stat(.impression, of: campaign)
        case .campaignDismissal(let campaign): return try .stat(.dismissal, of: campaign)
        case .campaignClick(let campaign): return try .stat(.click, of: campaign)
        case .notificationOpened(let content):
            do throws(WireNote) {
                return try .click(notification: content.payload, actionIdentifier: nil)
            } catch {
                throw unsupported("part in that notification: it lacks \"evg\" with an experience")
            }
        case .native(let event) where event.type == Native.event:
            return EvergageAction(members: event.payload, priority: event.priority)
        case .native(let event): throw unsupported("event of the type \"\(event.type)\"")
        case .goalCompleted, .goalAbandoned: throw unsupported("goals")
        case .sessionEnded: throw unsupported("end of a session: the vendor's visits end by themselves")
        case .notificationReceived: throw unsupported("notifications that were merely received")
        case .exposure: throw unsupported("exposures: record the impression of a campaign")
        case .consentChanged: throw unsupported("word for consent")
        }
    }

    /// Returns the whole event as it is sent.
    static func event(
        _ envelope: Envelope,
        _ action: EvergageAction,
        configuration: EvergageConfiguration,
        isCampaignWanted: Bool
    ) -> FlagValue {
        var members = action.members
        let source = [
            "channel": .string(configuration.channel),
            "application": configuration.application.unlessBlank.map(FlagValue.string),
            "locale": configuration.locale?.unlessBlank.map(FlagValue.string),
            "contentZones": envelope.campaignTargets.map { .array($0.map(FlagValue.string)) },
            "time": envelope.date.epochMilliseconds.map(FlagValue.int),
        ]
        members[object: "source"].merge(source.compactMapValues(\.self)) { $1 }
        let ids = envelope.identity.evergageIDs
        let user = ["anonId": ids.anonymous, "id": ids.named].compactMapValues { $0.map(FlagValue.string) }
        members[object: "user"].merge(user) { $1 }
        // Statistics have no place for attributes.
        if members["campaignStats"] == nil {
            let changes = envelope.attributeChanges.values.mapValues(attribute)
            members[object: "user"][object: "attributes"].merge(changes) { own, _ in own }
        }
        if !isCampaignWanted { members[object: "flags"]["noCampaigns"] = true }
        return .object(members)
    }

    /// The vendor's attributes are strings.
    private static func attribute(_ value: FlagValue) -> FlagValue {
        switch value {
        case .null, .string: value
        default: .string(value.description)
        }
    }

    // MARK: Campaigns in

    /// Returns the campaigns of an answer, one for each target.
    ///
    /// Unpublished campaigns count only if the event asked for a test.
    static func campaigns(in answer: EvergageAnswer, isTest: Bool) -> [Campaign] {
        answer.campaignResponses.flatMap { response -> [Campaign] in
            guard response.state == "Published" || isTest else { return [] }
            let isControl = (response.userGroup ?? response.payload?["userGroup"]?.stringValue) == "Control"
            return messages(of: response).map { message in
                Campaign(
                    id: response.campaignID,
                    name: response.campaignName,
                    target: message.targetName,
                    experience: Variation(
                        id: response.experienceID,
                        name: response.experienceName,
                        isControl: isControl
                    ),
                    messageID: message.id,
                    content: message.dataMap,
                    promotedItems: promotedItems(message.promotedItemKeys),
                    isControlGroup: isControl
                )
            }
        }
    }

    /// Returns the messages of a campaign; templates answer with only a payload, and name its target as they like.
    private static func messages(of response: EvergageAnswer.CampaignResponse) -> [EvergageAnswer.Message] {
        if let messages = response.messages { return messages }
        guard let payload = response.payload else { return [] }
        let named = ["target", "targetName", "contentZone"].lazy
            .compactMap { payload[$0]?.stringValue?.unlessBlank }.first
        guard let target = named ?? response.campaignName.unlessBlank else { return [] }
        return [.init(id: "", targetName: target, dataMap: payload, promotedItemKeys: [])]
    }

    private static func promotedItems(_ keys: [EvergageAnswer.ItemKey]) -> [String: [String]] {
        let names = ["p": "Product", "a": "Article", "b": "Blog", "c": "Category", "P": "Promotion"]
        var items: [String: [String]] = [:]
        for key in keys {
            let isTag = key.type == "t" || key.type == "Tag"
            items[isTag ? key.tagType ?? "Tag" : names[key.type] ?? key.type, default: []].append(key.id)
        }
        return items
    }
}

extension TrackingEvent {
    /// What this event says about view time; `nil` for any other event.
    var evergageViewTime: [String: FlagValue]? {
        guard case .native(let native) = kind, native.type == EvergageTranslation.Native.viewTime else { return nil }
        return native.payload
    }
}
