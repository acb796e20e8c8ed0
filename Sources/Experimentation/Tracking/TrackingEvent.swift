import Foundation

/// Something that happened, in vendor-neutral terms.
///
/// ```swift
/// try await session.track(.purchase(order))
/// try await session.track(.custom("spun-wheel", value: 3, attributes: ["color": "red"]))
/// ```
///
/// An adapter translates it into its vendor's terms. An event for which the vendor has no equivalent is refused when it
/// is tracked, with ``ErrorCode/unsupported``, and never silently dropped.
public struct TrackingEvent: Sendable, Hashable {
    /// The kind of the event, with its own fields.
    public var kind: Kind

    /// Further attributes.
    public var attributes: Attributes

    /// Creates an event.
    public init(_ kind: Kind, attributes: Attributes = [:]) {
        self.kind = kind
        self.attributes = attributes
    }

    /// The kinds of events.
    public enum Kind: Sendable, Hashable {
        /// An event that only this application defines.
        case custom(name: String, value: Double?)
        /// A screen was seen.
        case screenView(name: String)
        /// A page was seen.
        case pageView(url: String)
        /// A goal was reached.
        case goalCompleted(name: String)
        /// A goal was abandoned.
        case goalAbandoned(name: String)
        /// An item was seen in passing, in a list or a teaser; `nil` ends the view.
        case viewItem(CatalogItem?)
        /// An item's own page was seen; `nil` ends the view.
        case viewItemDetail(CatalogItem?)
        /// A category was seen; `nil` ends the view.
        case viewCategory(CatalogItem?)
        /// A tag was seen; `nil` ends the view.
        case viewTag(CatalogItem?)
        /// Something was added to the cart.
        case addToCart(LineItem)
        /// Something was removed from the cart.
        case removeFromCart(LineItem)
        /// The cart now holds exactly these lines.
        case replaceCart([LineItem])
        /// An order was placed.
        case purchase(Order)
        /// An item was reviewed.
        case review(CatalogItem, Review?)
        /// An item was shared.
        case share(CatalogItem)
        /// An item was commented on.
        case comment(CatalogItem)
        /// An item was marked as a favorite.
        case favorite(CatalogItem)
        /// The application was installed.
        case installed
        /// A session began.
        case sessionStarted
        /// A session ended, after this many seconds of use.
        case sessionEnded(seconds: Double)
        /// A notification arrived.
        case notificationReceived(NotificationContent)
        /// A notification was opened.
        case notificationOpened(NotificationContent)
        /// A campaign was shown, or would have been if its user were not in the control group.
        case campaignImpression(Campaign)
        /// A campaign was dismissed.
        case campaignDismissal(Campaign)
        /// A campaign was clicked.
        case campaignClick(Campaign)
        /// A user saw the variation of an experiment.
        case exposure(Exposure)
        /// Consent was given or withdrawn.
        case consentChanged(granted: Bool)
        /// Something that only one vendor has, created by its adapter's typed extras.
        case native(NativeEvent)
    }
}

/// An event that only one vendor has: that vendor's name for it, and a payload.
///
/// The typed extras of an adapter create these; the core carries, orders and stores them like any other event.
public struct NativeEvent: Sendable, Hashable {
    /// The vendor's name for it.
    public var type: String
    /// The payload, in the adapter's own shape.
    public var payload: [String: FlagValue]
    /// The priority when the store is full.
    public var priority: Priority
    /// Whether the user's changed attributes may be sent with it.
    ///
    /// If not, they wait for the next event: set it to `false` where the vendor's form of this event has no place for
    /// them.
    public var carriesAttributeChanges: Bool

    /// Creates an event.
    public init(
        type: String,
        payload: [String: FlagValue] = [:],
        priority: Priority = .normal,
        carriesAttributeChanges: Bool = true
    ) {
        self.type = type
        self.payload = payload
        self.priority = priority
        self.carriesAttributeChanges = carriesAttributeChanges
    }
}

/// The importance of an event: the most important are dropped last when the store is full.
///
/// It doesn't change the order of delivery, which is that of acceptance.
public enum Priority: Int, Sendable, Hashable, Codable, Comparable, CaseIterable {
    /// Frequent events such as views.
    case low = 0
    /// Events that are neither frequent nor critical.
    case normal = 1
    /// Exposures, purchases, consent: without them results are wrong.
    case high = 2

    /// Orders by importance.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension TrackingEvent {
    /// Whether a user's attributes may be sent with it.
    var carriesAttributes: Bool {
        if case .native(let event) = kind { event.carriesAttributeChanges } else { true }
    }

    /// Whether the user's changed attributes are sent with it, and not with the next event.
    ///
    /// They are sent once, and a vendor's statistics of campaigns and notifications may have no place for them.
    var carriesAttributeChanges: Bool {
        switch kind {
        case .campaignImpression, .campaignDismissal, .campaignClick, .notificationOpened: false
        default: carriesAttributes
        }
    }

    /// The event's priority.
    public var priority: Priority {
        switch kind {
        case .purchase, .exposure, .consentChanged, .campaignImpression, .campaignClick, .campaignDismissal,
            .installed:
            .high
        case .screenView, .pageView, .viewItem, .viewItemDetail, .viewCategory, .viewTag: .low
        case .native(let event): event.priority
        default: .normal
        }
    }
}

// MARK: - Shorthand

extension TrackingEvent {
    /// An event that only this application defines.
    public static func custom(_ name: String, value: Double? = nil, attributes: Attributes = [:]) -> Self {
        Self(.custom(name: name, value: value), attributes: attributes)
    }
    /// A screen was seen.
    public static func screenView(_ name: String, attributes: Attributes = [:]) -> Self {
        Self(.screenView(name: name), attributes: attributes)
    }
    /// A page was seen.
    public static func pageView(_ url: String, attributes: Attributes = [:]) -> Self {
        Self(.pageView(url: url), attributes: attributes)
    }
    /// A goal was reached.
    public static func goalCompleted(_ name: String, attributes: Attributes = [:]) -> Self {
        Self(.goalCompleted(name: name), attributes: attributes)
    }
    /// A goal was abandoned.
    public static func goalAbandoned(_ name: String, attributes: Attributes = [:]) -> Self {
        Self(.goalAbandoned(name: name), attributes: attributes)
    }
    /// An item was seen in passing; `nil` ends the view.
    public static func viewItem(_ item: CatalogItem?, attributes: Attributes = [:]) -> Self {
        Self(.viewItem(item), attributes: attributes)
    }
    /// An item's own page was seen; `nil` ends the view.
    public static func viewItemDetail(_ item: CatalogItem?, attributes: Attributes = [:]) -> Self {
        Self(.viewItemDetail(item), attributes: attributes)
    }
    /// A category was seen; `nil` ends the view.
    public static func viewCategory(_ category: CatalogItem?, attributes: Attributes = [:]) -> Self {
        Self(.viewCategory(category), attributes: attributes)
    }
    /// A tag was seen; `nil` ends the view.
    public static func viewTag(_ tag: CatalogItem?, attributes: Attributes = [:]) -> Self {
        Self(.viewTag(tag), attributes: attributes)
    }
    /// Something was added to the cart.
    public static func addToCart(_ line: LineItem, attributes: Attributes = [:]) -> Self {
        Self(.addToCart(line), attributes: attributes)
    }
    /// Something was removed from the cart.
    public static func removeFromCart(_ line: LineItem, attributes: Attributes = [:]) -> Self {
        Self(.removeFromCart(line), attributes: attributes)
    }
    /// The cart now holds exactly these lines.
    public static func replaceCart(_ lines: [LineItem], attributes: Attributes = [:]) -> Self {
        Self(.replaceCart(lines), attributes: attributes)
    }
    /// An order was placed.
    public static func purchase(_ order: Order, attributes: Attributes = [:]) -> Self {
        Self(.purchase(order), attributes: attributes)
    }
    /// An item was reviewed.
    public static func review(_ item: CatalogItem, _ review: Review? = nil, attributes: Attributes = [:]) -> Self {
        Self(.review(item, review), attributes: attributes)
    }
    /// An item was shared.
    public static func share(_ item: CatalogItem, attributes: Attributes = [:]) -> Self {
        Self(.share(item), attributes: attributes)
    }
    /// An item was commented on.
    public static func comment(_ item: CatalogItem, attributes: Attributes = [:]) -> Self {
        Self(.comment(item), attributes: attributes)
    }
    /// An item was marked as a favorite.
    public static func favorite(_ item: CatalogItem, attributes: Attributes = [:]) -> Self {
        Self(.favorite(item), attributes: attributes)
    }
    /// The application was installed.
    public static var installed: Self { Self(.installed) }
    /// A session began.
    public static var sessionStarted: Self { Self(.sessionStarted) }
    /// A session ended, after this many seconds of use.
    public static func sessionEnded(seconds: Double) -> Self { Self(.sessionEnded(seconds: seconds)) }
    /// A notification arrived.
    public static func notificationReceived(_ content: NotificationContent) -> Self {
        Self(.notificationReceived(content))
    }
    /// A notification was opened.
    public static func notificationOpened(_ content: NotificationContent) -> Self { Self(.notificationOpened(content)) }
    /// A campaign was shown, or would have been.
    public static func campaignImpression(_ campaign: Campaign) -> Self { Self(.campaignImpression(campaign)) }
    /// A campaign was dismissed.
    public static func campaignDismissal(_ campaign: Campaign) -> Self { Self(.campaignDismissal(campaign)) }
    /// A campaign was clicked.
    public static func campaignClick(_ campaign: Campaign) -> Self { Self(.campaignClick(campaign)) }
}
