import Experimentation
import Foundation

/// An event in the vendor's own shape, without what every event gets when it is sent.
///
/// Neutral events and the calls of a context both become actions. Pure functions create one, or say why there is none.
struct EvergageAction: Sendable, Hashable {
    /// The members of the event.
    var members: [String: FlagValue]
    /// The parts that were omitted.
    var notes: [EvergageNote] = []
    /// The priority when the store is full: the vendor's SDK keeps purchases, and drops the oldest of all others.
    var priority: Priority = .normal
    /// Whether changed attributes are sent with it: not with statistics.
    var carriesAttributes = true

    /// The maximum length of an action's name; longer ones are cut.
    static let longestName = 1024

    /// Notes a part that the vendor has no field for.
    mutating func leaveOut(_ what: String) { notes.append(.warning("\(what) has no place on the wire")) }

    /// Notes parts that the vendor has no fields for, if there are any.
    mutating func leaveOut(_ what: String, _ names: Set<String>) {
        if names.isEmpty { return }
        notes.append(.warning("\(what) have no place on the wire: \(names.sorted().joined(separator: ", "))"))
    }
}

/// What was left out of an action, or why there is no action, for the log.
///
/// It never contains a value from the application.
struct EvergageNote: Error, Hashable {
    var level: LogLevel
    var text: String

    static func warning(_ text: String) -> Self { Self(level: .warning, text: text) }
    static func error(_ text: String) -> Self { Self(level: .error, text: text) }
}

/// The kinds of views, with the vendor's name and the effect on the item.
enum EvergageView: String, Sendable, Hashable, CaseIterable {
    case item = "View Item"
    case itemDetail = "View Item Detail"
    case category = "View Category"
    case tag = "View Tag"
}

/// The kinds of activities with an item, other than views.
enum EvergageActivity: String, Sendable, Hashable, CaseIterable {
    case review = "Review"
    case share = "Share"
    case comment = "Comment"
    case favorite = "Favorite"
}

extension EvergageAction {
    /// Returns an action that only the application defines.
    static func custom(_ name: String) throws(EvergageNote) -> Self {
        guard !name.isBlank else { throw .warning("an action without a name was dropped") }
        return Self(members: ["action": .string(cut(name))])
    }

    /// Returns the view of a page or a screen.
    static func page(_ name: String, source: FlagValue) throws(EvergageNote) -> Self {
        var action = try custom(name)
        action.members["source"] = source
        action.members["flags"] = ["pageView": true]
        return action
    }

    /// Returns the view of an item; `actionName` is another name for the action, and a blank one counts as none.
    static func view(
        _ view: EvergageView,
        _ item: EvergageItem,
        actionName: String? = nil
    ) throws(EvergageNote) -> Self {
        switch (view, item.kind) {
        case (.category, .category), (.tag, .tag), (.item, _), (.itemDetail, _): break
        default: throw .error("\(view.rawValue): the item is of another kind; dropped")
        }
        var action = try Self(view.rawValue, of: item)
        if let actionName = actionName?.unlessBlank { action.members["action"] = .string(cut(actionName)) }
        return action
    }

    /// Returns an addition to the cart, or a removal from it.
    static func changeCart(_ line: EvergageLineItem?, isRemoval: Bool) throws(EvergageNote) -> Self {
        let name = isRemoval ? "Remove From Cart" : "Add To Cart"
        guard let line else { throw .error("\(name): no line; dropped") }
        var notes: [EvergageNote] = []
        do throws(EvergageNote) {
            return Self(name, "cart", ["singleLine": ["Product": try line.wire(&notes)]], notes)
        } catch {
            throw .error("\(name): \(error.text)")
        }
    }

    /// Returns the current cart.
    static func viewCart(_ order: EvergageOrder?) throws(EvergageNote) -> Self {
        var notes: [EvergageNote] = []
        let (_, lines) = try parts(of: order, for: "View Cart", &notes)
        return Self("View Cart", "cart", ["complete": ["Product": .array(lines)]], notes)
    }

    /// Returns a placed order.
    static func purchase(_ order: EvergageOrder?) throws(EvergageNote) -> Self {
        var notes: [EvergageNote] = []
        let (order, lines) = try parts(of: order, for: "Purchase", &notes)
        var wire: [String: FlagValue] = [:]
        wire.set("orderId", order.orderID?.unlessBlank)
        if let total = order.totalValue {
            if total.isFinite, total > 0 {
                wire["totalValue"] = .number(total)
            } else {
                notes.append(.warning("a total of \(total) isn't sent; the vendor takes the sum of the lines"))
            }
        }
        wire.set("currency", order.totalValueCurrency?.unlessBlank)
        if !lines.isEmpty { wire["lineItems"] = .array(lines) }
        var action = Self("Purchase", "order", ["Product": .object(wire)], notes)
        action.priority = .high
        return action
    }

    /// Returns an order with its lines in the form of events.
    private static func parts(
        of order: EvergageOrder?,
        for name: String,
        _ notes: inout [EvergageNote]
    ) throws(EvergageNote) -> (EvergageOrder, lines: [FlagValue]) {
        guard let order else { throw .error("\(name): no order; dropped") }
        var lines: [FlagValue] = []
        for line in order.lineItems ?? [] {
            do throws(EvergageNote) { lines.append(try line.wire(&notes)) } catch { notes.append(error) }
        }
        // Without lines the vendor would empty the mirrored cart, or take its lines as those that were bought.
        if lines.isEmpty, order.lineItems?.isEmpty == false {
            throw .error("\(name): not one line may be sent; dropped")
        }
        return (order, lines)
    }

    /// Returns an activity with an item, other than a view.
    static func activity(
        _ activity: EvergageActivity,
        _ item: EvergageItem?,
        review: EvergageReview? = nil
    ) throws(EvergageNote) -> Self {
        guard let item else { throw .error("\(activity.rawValue): no item; dropped") }
        var action = try Self(activity.rawValue, of: item)
        if let review {
            if let id = review.itemID, id != item.id {
                action.notes.append(.warning("the review names another item; the reviewed one counts"))
            }
            action.members["review"] = .object(review.wire(itemID: item.id, &action.notes))
        }
        return action
    }

    /// Creates one of the vendor's own actions; `part` is the name of the member that tells what it is about.
    private init(_ name: String, _ part: String, _ value: FlagValue, _ notes: [EvergageNote]) {
        self.init(members: ["action": .string(name), "itemAction": .string(name), part: value], notes: notes)
    }

    private init(_ name: String, of item: EvergageItem) throws(EvergageNote) {
        guard !item.id.isBlank else { throw .error("\(name): the item's id is blank; dropped") }
        let (catalog, notes) = item.catalogJSON()
        self.init(name, "catalog", [item.kind.typeName: .object(catalog)], notes)
    }

    private static func cut(_ name: String) -> String { String(name.prefix(longestName)) }
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

    /// Returns a statistic of a campaign.
    static func stat(_ stat: Stat, of campaign: Campaign?) throws(EvergageNote) -> Self {
        guard let campaign else { throw .warning("\(stat.rawValue): no campaign; dropped") }
        return try Self.stat(
            stat,
            experienceID: campaign.experience.id,
            isControl: campaign.isControlGroup,
            promoted: campaign.promotedItems
        )
    }

    /// Returns a click on a notification that the application had drawn itself; the vendor's part is under `evg`.
    static func click(
        notification: [String: FlagValue]?,
        actionIdentifier: String?
    ) throws(EvergageNote) -> Self {
        let part = notification?["evg"]?.objectValue ?? [:]
        guard let experience = part["experienceId"]?.stringValue?.unlessBlank else {
            throw EvergageNote(level: .info, text: "the notification is not from this vendor; nothing to track")
        }
        guard actionIdentifier != dismissIdentifier else {
            throw EvergageNote(level: .info, text: "the notification was dismissed; nothing to track")
        }
        var action = try stat(
            .click,
            experienceID: experience,
            isControl: part["control"]?.boolValue ?? false,
            promoted: [:]
        )
        if let actionIdentifier { action.members["notification"] = ["actionIdentifier": .string(actionIdentifier)] }
        return action
    }

    /// The identifier with which iOS reports the dismissal of a notification.
    private static let dismissIdentifier = "com.apple.UNNotificationDismissActionIdentifier"

    private static func stat(
        _ stat: Stat,
        experienceID: String,
        isControl: Bool,
        promoted: [String: [String]]
    ) throws(EvergageNote) -> Self {
        guard !experienceID.isBlank else {
            throw .warning("\(stat.rawValue): the campaign has no experience; dropped")
        }
        var members: [String: FlagValue] = [
            "experienceId": .string(experienceID),
            "stat": .string(stat.rawValue),
            "control": .bool(isControl),
        ]
        let catalog = promoted.filter { !$0.value.isEmpty }.mapValues { FlagValue.array($0.map(FlagValue.string)) }
        if !catalog.isEmpty { members["catalog"] = .object(catalog) }
        return Self(
            members: ["campaignStats": .array([.object(members)]), "flags": ["noCampaigns": true]],
            carriesAttributes: false
        )
    }
}
