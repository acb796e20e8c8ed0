import AdapterKit
import Experimentation

/// An event in the vendor's own shape, without the members that every event gets when it is sent.
///
/// Neutral events and the calls of a context both become actions. Pure functions create an action, or say why there is
/// none.
struct EvergageAction: Sendable, Hashable {
    var members: [String: FlagValue]
    /// The parts that were omitted.
    var notes: [WireNote] = []
    /// The priority when the store is full: the vendor's SDK keeps purchases, and drops the oldest of all others.
    var priority: Priority = .normal
    /// Whether changed attributes are sent with it; statistics don't carry any.
    var carriesAttributes = true
}

/// The activities with an item, by the vendor's names.
enum EvergageActivity: String, Sendable, Hashable {
    case viewItem = "View Item"
    case viewItemDetail = "View Item Detail"
    case viewCategory = "View Category"
    case viewTag = "View Tag"
    case review = "Review"
    case share = "Share"
    case comment = "Comment"
    case favorite = "Favorite"
}

extension EvergageAction {
    /// Returns an action that the application defines itself.
    static func custom(_ name: String) throws(WireNote) -> Self {
        guard !name.isBlank else { throw .warning("an action without a name was dropped") }
        return Self(members: ["action": .string(cut(name))])
    }

    /// Returns the view of a page or a screen.
    static func page(_ name: String, source: FlagValue) throws(WireNote) -> Self {
        var action = try custom(name)
        action.members["source"] = source
        action.members["flags"] = ["pageView": true]
        return action
    }

    /// Returns an activity with an item; `actionName` is another name for it, and a blank one is ignored.
    static func activity(
        _ activity: EvergageActivity,
        _ item: EvergageItem?,
        actionName: String? = nil
    ) throws(WireNote) -> Self {
        let name = activity.rawValue
        guard let item else { throw .error("\(name): no item; dropped") }
        switch activity {
        case .viewCategory where item.kind != .category, .viewTag where !item.kind.isTag:
            throw .error("\(name): the item is of another kind; dropped")
        default: break
        }
        guard !item.id.isBlank else { throw .error("\(name): the item's id is blank; dropped") }
        let (catalog, notes) = item.catalogJSON()
        var action = Self(name, "catalog", [item.kind.typeName: .object(catalog)], notes)
        if let actionName = actionName?.unlessBlank { action.members["action"] = .string(cut(actionName)) }
        return action
    }

    static func review(_ item: EvergageItem?, _ review: EvergageReview?) throws(WireNote) -> Self {
        var action = try activity(.review, item)
        if let item, let review {
            if let id = review.itemID, id != item.id {
                action.notes.append(.warning("the review names another item; the reviewed one counts"))
            }
            action.members["review"] = review.wire(itemID: item.id, &action.notes)
        }
        return action
    }

    /// Returns an addition to the cart, or a removal from it.
    static func changeCart(_ line: EvergageLineItem?, isRemoval: Bool) throws(WireNote) -> Self {
        let name = isRemoval ? "Remove From Cart" : "Add To Cart"
        guard let line else { throw .error("\(name): no line; dropped") }
        var notes: [WireNote] = []
        do throws(WireNote) {
            return Self(name, "cart", ["singleLine": ["Product": try line.wire(&notes)]], notes)
        } catch {
            throw .error("\(name): \(error.text)")
        }
    }

    static func viewCart(_ order: EvergageOrder?) throws(WireNote) -> Self {
        var notes: [WireNote] = []
        let (_, lines) = try parts(of: order, for: "View Cart", &notes)
        return Self("View Cart", "cart", ["complete": ["Product": .array(lines)]], notes)
    }

    static func purchase(_ order: EvergageOrder?) throws(WireNote) -> Self {
        var notes: [WireNote] = []
        let (order, lines) = try parts(of: order, for: "Purchase", &notes)
        var wire: [String: FlagValue] = [:]
        wire["orderId"] = order.orderID?.unlessBlank.map(FlagValue.string)
        if let total = order.totalValue {
            if total.isFinite, total > 0 {
                wire["totalValue"] = .number(total)
            } else {
                notes.append(.warning("a total of \(total) isn't sent; the vendor takes the sum of the lines"))
            }
        }
        wire["currency"] = order.totalValueCurrency?.unlessBlank.map(FlagValue.string)
        if !lines.isEmpty { wire["lineItems"] = .array(lines) }
        var action = Self("Purchase", "order", ["Product": .object(wire)], notes)
        action.priority = .high
        return action
    }

    /// Returns an order with its lines in the form of events.
    private static func parts(
        of order: EvergageOrder?,
        for name: String,
        _ notes: inout [WireNote]
    ) throws(WireNote) -> (EvergageOrder, lines: [FlagValue]) {
        guard let order else { throw .error("\(name): no order; dropped") }
        var lines: [FlagValue] = []
        for line in order.lineItems ?? [] {
            do throws(WireNote) { lines.append(try line.wire(&notes)) } catch { notes.append(error) }
        }
        // Without lines, the vendor would empty the mirrored cart, or take the cart's lines as the purchased ones.
        if lines.isEmpty, order.lineItems?.isEmpty == false {
            throw .error("\(name): not one line may be sent; dropped")
        }
        return (order, lines)
    }

    /// Creates one of the vendor's own actions; `part` is the name of the member that says what the action is about.
    private init(_ name: String, _ part: String, _ value: FlagValue, _ notes: [WireNote]) {
        self.init(members: ["action": .string(name), "itemAction": .string(name), part: value], notes: notes)
    }

    /// Cuts an action's name to its maximum length.
    private static func cut(_ name: String) -> String { String(name.prefix(1024)) }
}

// MARK: - Statistics

extension EvergageAction {
    /// The statistics of a campaign.
    enum Stat: String, Sendable, Hashable {
        case impression = "Impression"
        case dismissal = "Dismissal"
        // The web SDK says "Clickthrough"; the Event API's own page says this.
        case click = "Click"
    }

    static func stat(_ stat: Stat, of campaign: Campaign?) throws(WireNote) -> Self {
        guard let campaign else { throw .warning("\(stat.rawValue): no campaign; dropped") }
        guard !campaign.experience.id.isBlank else {
            throw .warning("\(stat.rawValue): the campaign has no experience; dropped")
        }
        var members: [String: FlagValue] = [
            "experienceId": .string(campaign.experience.id),
            "stat": .string(stat.rawValue),
            "control": .bool(campaign.isControlGroup),
        ]
        let promoted = campaign.promotedItems.filter { !$0.value.isEmpty }
        members[object: "catalog"] = promoted.mapValues { .array($0.map(FlagValue.string)) }
        return Self(
            members: ["campaignStats": .array([.object(members)]), "flags": ["noCampaigns": true]],
            carriesAttributes: false
        )
    }

    /// Returns a click on a notification that the application has displayed itself; the vendor's part is under `evg`.
    static func click(notification: [String: FlagValue]?, actionIdentifier: String?) throws(WireNote) -> Self {
        let part = notification?[object: "evg"] ?? [:]
        guard let experience = part["experienceId"]?.stringValue?.unlessBlank else {
            throw WireNote(level: .info, text: "the notification is not from this vendor; nothing to track")
        }
        guard actionIdentifier != dismissIdentifier else {
            throw WireNote(level: .info, text: "the notification was dismissed; nothing to track")
        }
        let isControl = part["control"]?.boolValue ?? false
        let campaign = Campaign(id: "", target: "", experience: Variation(id: experience), isControlGroup: isControl)
        var action = try stat(.click, of: campaign)
        if let actionIdentifier { action.members["notification"] = ["actionIdentifier": .string(actionIdentifier)] }
        return action
    }

    /// The identifier with which iOS reports the dismissal of a notification.
    private static let dismissIdentifier = "com.apple.UNNotificationDismissActionIdentifier"
}
