import Experimentation
import Foundation

/// Translates neutral types into the vendor's, and back; only this file and the one beside it know both.
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
    /// - Throws: ``ErrorCode/unsupported`` for what the vendor has no word for, ``ErrorCode/invalidArgument`` for what
    ///   it wouldn't take.
    static func action(for event: TrackingEvent) throws(ExperimentationError) -> EvergageAction {
        do throws(EvergageNote) {
            var unread: Set<String> = []
            var action = try known(event.kind, unread: &unread)
            action.leaveOut("its items' attributes", unread)
            if case .purchase(let order) = event.kind { action.leaveOut("its fields", order.unknownToEvergage) }
            action.leaveOut("its attributes", Set(event.attributes.values.keys))
            return action
        } catch {
            throw ExperimentationError(error.level == .debug ? .unsupported : .invalidArgument, error.text)
        }
    }

    /// Returns the vendor's event, and the names of the items' attributes that it doesn't carry.
    private static func known(
        _ kind: TrackingEvent.Kind,
        unread: inout Set<String>
    ) throws(EvergageNote) -> EvergageAction {
        /// Returns the error for something that the vendor can't represent.
        func unsupported(_ what: String) -> EvergageNote {
            EvergageNote(level: .debug, text: "evergage has no \(what).")
        }
        func item(_ item: CatalogItem, as kind: EvergageItem.Kind? = nil) -> EvergageItem {
            EvergageItem(item, as: kind, unread: &unread)
        }
        func line(_ line: LineItem, in currency: String? = nil) -> EvergageLineItem {
            // On the wire, a line has no more of its item than id, name and price.
            unread.formUnion(line.item.attributes.values.filter { $0.value != .null }.keys)
            if !line.item.categories.isEmpty { unread.insert("categories") }
            if let own = line.item.currency, own != currency { unread.insert("currency") }
            return EvergageLineItem(item: item(line.item), quantity: Double(line.quantity))
        }
        let endOfView = "end of a view in the neutral API: EvergageContext measures view time and ends it"
        switch kind {
        case .custom(let name, let value):
            var action = try EvergageAction.custom(name)
            if value != nil { action.leaveOut("its value") }
            return action
        case .screenView(let name): return try .page(name, source: ["pageType": .string(name)])
        case .pageView(let url): return try .page("Page View", source: ["url": .string(url)])
        case .viewItem(let viewed?): return try .view(.item, item(viewed))
        case .viewItemDetail(let viewed?): return try .view(.itemDetail, item(viewed))
        case .viewCategory(let viewed?): return try .view(.category, item(viewed, as: .category))
        case .viewTag(let viewed?): return try .view(.tag, item(viewed, as: .tag(EvergageItem.tagType(of: viewed))))
        case .viewItem(nil), .viewItemDetail(nil), .viewCategory(nil), .viewTag(nil): throw unsupported(endOfView)
        case .addToCart(let added): return try .changeCart(line(added), isRemoval: false)
        case .removeFromCart(let removed): return try .changeCart(line(removed), isRemoval: true)
        case .replaceCart(let lines): return try .viewCart(EvergageOrder(lineItems: lines.map { line($0) }))
        case .purchase(let order):
            return try .purchase(EvergageOrder(order, lineItems: order.lines.map { line($0, in: order.currency) }))
        case .review(let reviewed, let review):
            return try .activity(.review, item(reviewed), review: review.map { .init($0) })
        case .share(let shared): return try .activity(.share, item(shared))
        case .comment(let commented): return try .activity(.comment, item(commented))
        case .favorite(let favorite): return try .activity(.favorite, item(favorite))
        case .installed: return try .custom("App Install")
        case .sessionStarted: return try .custom("App Launch")
        case .campaignImpression(let campaign): return try .stat(.impression, of: campaign)
        case .campaignDismissal(let campaign): return try .stat(.dismissal, of: campaign)
        case .campaignClick(let campaign): return try .stat(.click, of: campaign)
        case .notificationOpened(let content):
            do throws(EvergageNote) {
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
        var source = members["source"]?.objectValue ?? [:]
        source["channel"] = .string(configuration.channel)
        source.set("application", configuration.application.unlessBlank)
        source.set("locale", configuration.locale?.unlessBlank)
        if let targets = envelope.campaignTargets { source["contentZones"] = .array(targets.map(FlagValue.string)) }
        source.set("time", envelope.date)
        members["source"] = .object(source)

        var user = members["user"]?.objectValue ?? [:]
        let ids = envelope.identity.evergageIDs
        user.set("anonId", ids.anonymous)
        user.set("id", ids.named)
        // Statistics have no place for them.
        if !envelope.attributeChanges.isEmpty, members["campaignStats"] == nil {
            let changes = envelope.attributeChanges.values.mapValues(attribute)
            user["attributes"] = .object(changes.merging(user["attributes"]?.objectValue ?? [:]) { $1 })
        }
        members["user"] = .object(user)

        if !isCampaignWanted {
            var flags = members["flags"]?.objectValue ?? [:]
            flags["noCampaigns"] = true
            members["flags"] = .object(flags)
        }
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
    /// Unpublished ones count only if the event asked for a test.
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
