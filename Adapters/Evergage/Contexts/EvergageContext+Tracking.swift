import AdapterKit
import Experimentation

extension EvergageContext {
    // MARK: Statistics of campaigns

    /// Tracks that a campaign was shown, or would have been shown if the user weren't in the control group.
    public func trackImpression(_ campaign: Campaign?) {
        capture(try .stat(.impression, of: campaign))
    }

    /// Tracks that a campaign was dismissed.
    public func trackDismissal(_ campaign: Campaign?) {
        capture(try .stat(.dismissal, of: campaign))
    }

    /// Tracks that a campaign was clicked.
    public func trackClickthrough(_ campaign: Campaign?) {
        capture(try .stat(.click, of: campaign))
    }

    /// Tracks a click on a notification that the application has displayed itself.
    ///
    /// Notifications that aren't the vendor's, and the platform's own dismissal, are ignored.
    ///
    /// - Parameters:
    ///   - notification: The notification as received.
    ///   - actionIdentifier: The identifier of the clicked action, if the platform provides it.
    public func trackClickthrough(notification: [String: FlagValue]?, actionIdentifier: String? = nil) {
        capture(try .click(notification: notification, actionIdentifier: actionIdentifier))
    }

    /// Tracks a click on a notification that the application has displayed itself, from the system's `userInfo`.
    ///
    /// Values that can't be represented, such as dates, are left out.
    public func trackClickthrough(userInfo: [AnyHashable: Any], actionIdentifier: String? = nil) {
        trackClickthrough(notification: [String: FlagValue](userInfo: userInfo), actionIdentifier: actionIdentifier)
    }

    // MARK: Views

    /// Tracks that an item is viewed; `nil` ends the view and tracks nothing.
    ///
    /// The view time is tracked automatically, until this or another view is called in this context.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - actionName: Another name for the action, to distinguish this view.
    public func viewItem(_ item: EvergageItem?, actionName: String? = nil) { view(.viewItem, item, actionName) }

    /// Tracks that the details of an item are viewed; otherwise as ``viewItem(_:actionName:)``.
    public func viewItemDetail(_ item: EvergageItem?, actionName: String? = nil) {
        view(.viewItemDetail, item, actionName)
    }

    /// Tracks that a category is viewed; otherwise as ``viewItem(_:actionName:)``.
    public func viewCategory(_ category: EvergageItem?, actionName: String? = nil) {
        view(.viewCategory, category, actionName)
    }

    /// Tracks that a tag is viewed; otherwise as ``viewItem(_:actionName:)``.
    public func viewTag(_ tag: EvergageItem?, actionName: String? = nil) { view(.viewTag, tag, actionName) }

    private func view(_ view: EvergageActivity, _ item: EvergageItem?, _ actionName: String?) {
        guard let owner else { return }
        // The view changes even if the call isn't captured: later time must not count for an earlier item.
        let isListening = owner.isListening
        owner.act { now in
            guard let item else { return note(viewing.timer.view(nil, at: now)) }
            do throws(WireNote) {
                let action = try EvergageAction.activity(view, item, actionName: actionName)
                let name = action.members["action"]?.stringValue ?? view.rawValue
                let subject = EvergageSubject(type: item.kind.typeName, id: ExactText(item.id), action: name)
                // The previous view is reported first, so that the vendor sees views in order.
                note(viewing.timer.view(subject, at: now))
                if isListening { capture(made: action) }
            } catch {
                owner.drop(error.level, error.text)
            }
        }
    }

    // MARK: Cart and orders

    /// Tracks that a product, which should have a price, is added to the cart.
    public func addToCart(_ lineItem: EvergageLineItem?) {
        capture(try .changeCart(lineItem, isRemoval: false))
    }

    /// Tracks that a product, which should have a price, is removed from the cart.
    public func removeFromCart(_ lineItem: EvergageLineItem?) {
        capture(try .changeCart(lineItem, isRemoval: true))
    }

    /// Tracks the whole cart, which replaces the one that the vendor mirrors; no lines mean an empty cart.
    public func viewCart(_ order: EvergageOrder?) {
        capture(try .viewCart(order))
    }

    /// Tracks that an order was placed; without lines, the vendor takes the cart's, and it counts an id only once.
    public func purchase(_ order: EvergageOrder?) {
        capture(try .purchase(order))
    }

    // MARK: Activities with items

    /// Tracks that an item was reviewed.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - details: The review.
    public func review(_ item: EvergageItem?, details: EvergageReview? = nil) {
        capture(try .review(item, details))
    }

    /// Tracks that an item was shared.
    public func share(_ item: EvergageItem?) {
        capture(try .activity(.share, item))
    }

    /// Tracks that an item was commented on.
    public func comment(_ item: EvergageItem?) {
        capture(try .activity(.comment, item))
    }

    /// Tracks that an item was marked as a favorite.
    public func favorite(_ item: EvergageItem?) {
        capture(try .activity(.favorite, item))
    }

    /// Tracks an action that the application defines itself, by a short name; anything beyond 1,024 characters is cut
    /// off.
    public func trackAction(_ action: String) {
        capture(try .custom(action))
    }

    // MARK: Capturing

    private func capture(_ make: @autoclosure () throws(WireNote) -> EvergageAction) {
        guard let owner, owner.isListening else { return }
        owner.catchUp()
        do throws(WireNote) {
            capture(made: try make())
        } catch {
            owner.drop(error.level, error.text)
        }
    }

    private func capture(made action: EvergageAction) {
        guard let owner else { return }
        var action = action
        for note in action.notes { owner.drop(note.level, note.text) }
        if let page = pageType?.unlessBlank { action.members["source"] = ["pageType": .string(page)] }
        owner.capture(.action(action), surface: surface)
    }
}
