import Experimentation

/// One of Flagship's hits, with the parameters that all of them share.
///
/// ```swift
/// var hit = FlagshipHit.screen("login")
/// hit.common.userLanguage = "fr"
/// try await visitor.sendHit(hit)
/// ```
public struct FlagshipHit: Sendable, Hashable {
    /// What kind of thing an event is.
    public enum Category: String, Sendable, Hashable, Codable, CaseIterable {
        /// Something that was done.
        case actionTracking = "Action Tracking"
        /// Something that shows interest.
        case userEngagement = "User Engagement"
    }

    /// What every hit can carry beside its own.
    public struct Common: Sendable, Hashable {
        /// The visitor's address in the network.
        public var userIP: String?
        /// The screen's size, as `750 x 1334`.
        public var screenResolution: String?
        /// The screen's depth of colour.
        public var screenColorDepth: String?
        /// The visitor's language.
        public var userLanguage: String?
        /// The number of the visitor's session.
        public var sessionNumber: Int?
        /// When the session began; accepted as the original accepts it, and like there never sent.
        public var currentSessionTimestamp: Int64?
        /// The number of the event in its session; accepted as the original accepts it, and like there never sent.
        public var sessionEventNumber: Int?
        /// Where it happened; screens and pages have it as their own.
        public var location: String?

        /// Creates parameters.
        public init(
            userIP: String? = nil,
            screenResolution: String? = nil,
            screenColorDepth: String? = nil,
            userLanguage: String? = nil,
            sessionNumber: Int? = nil,
            currentSessionTimestamp: Int64? = nil,
            sessionEventNumber: Int? = nil,
            location: String? = nil
        ) {
            self.userIP = userIP
            self.screenResolution = screenResolution
            self.screenColorDepth = screenColorDepth
            self.userLanguage = userLanguage
            self.sessionNumber = sessionNumber
            self.currentSessionTimestamp = currentSessionTimestamp
            self.sessionEventNumber = sessionEventNumber
            self.location = location
        }
    }

    /// The vendor's word for the type.
    public let type: String
    /// What all hits share.
    public var common: Common
    /// The hit's own members as they go out.
    var own: [String: FlagValue]

    init(_ type: String, own: [String: FlagValue?], common: Common = Common()) {
        self.type = type
        self.own = own.compactMapValues { $0 }
        self.common = common
    }

    /// A new interface came in front.
    public static func screen(_ location: String, common: Common = Common()) -> FlagshipHit {
        var common = common
        common.location = location
        return FlagshipHit("SCREENVIEW", own: [:], common: common)
    }

    /// A page was visited; its address isn't checked.
    public static func page(_ location: String, common: Common = Common()) -> FlagshipHit {
        var common = common
        common.location = location
        return FlagshipHit("PAGEVIEW", own: [:], common: common)
    }

    /// Something was bought.
    ///
    /// - Parameters:
    ///   - id: The transaction's own id.
    ///   - affiliation: The name of the goal in the report.
    ///   - revenue: What was paid in all, shipping and tax included.
    ///   - shipping: The part that is shipping.
    ///   - tax: The part that is tax.
    ///   - currency: The currency of all amounts, by its ISO 4217 code.
    ///   - paymentMethod: How it was paid.
    ///   - shippingMethod: How it is sent.
    ///   - itemCount: How many items.
    ///   - couponCode: The code of a coupon.
    ///   - common: What all hits share.
    /// - Returns: The hit.
    public static func transaction(
        id: String,
        affiliation: String,
        revenue: Double? = nil,
        shipping: Double? = nil,
        tax: Double? = nil,
        currency: String? = nil,
        paymentMethod: String? = nil,
        shippingMethod: String? = nil,
        itemCount: Int? = nil,
        couponCode: String? = nil,
        common: Common = Common()
    ) -> FlagshipHit {
        FlagshipHit(
            "TRANSACTION",
            own: [
                "tid": .string(id), "ta": .string(affiliation), "tr": revenue.map { .double($0) },
                "ts": shipping.map { .double($0) }, "tt": tax.map { .double($0) }, "tc": currency.map { .string($0) },
                "tcc": couponCode.map { .string($0) }, "pm": paymentMethod.map { .string($0) },
                "sm": shippingMethod.map { .string($0) }, "icn": itemCount.map { .int($0) },
            ],
            common: common
        )
    }

    /// One of the things that a transaction, sent before it, was about.
    ///
    /// - Parameters:
    ///   - transactionID: The transaction's id.
    ///   - name: The product's name.
    ///   - code: The product's code.
    ///   - price: What one costs; always sent, 0 by default.
    ///   - quantity: How many; always sent, 0 by default.
    ///   - category: The product's category.
    ///   - common: What all hits share.
    /// - Returns: The hit.
    public static func item(
        transactionID: String,
        name: String,
        code: String,
        price: Double = 0,
        quantity: Int = 0,
        category: String? = nil,
        common: Common = Common()
    ) -> FlagshipHit {
        FlagshipHit(
            "ITEM",
            own: [
                "tid": .string(transactionID), "in": .string(name), "ic": .string(code), "ip": .double(price),
                "iq": .int(quantity), "iv": category.map { .string($0) },
            ],
            common: common
        )
    }

    /// Anything else that happened.
    ///
    /// - Parameters:
    ///   - category: What kind of thing it is.
    ///   - action: The event's name in the report.
    ///   - label: More about it.
    ///   - value: Its value.
    ///   - common: What all hits share.
    /// - Returns: The hit.
    public static func event(
        _ category: Category,
        action: String,
        label: String? = nil,
        value: UInt? = nil,
        common: Common = Common()
    ) -> FlagshipHit {
        FlagshipHit(
            "EVENT",
            own: [
                "ec": .string(category.rawValue), "ea": .string(action), "el": label.map { .string($0) },
                "ev": value.map { .int(Int(clamping: $0)) },
            ],
            common: common
        )
    }

    /// A visitor's consent, as the vendor wants to hear of it.
    static func consent(_ isGranted: Bool) -> FlagshipHit {
        .event(.userEngagement, action: "fs_consent", label: "\(FlagshipWire.sdkClient):\(isGranted)")
    }

    /// A visitor's whole context, every value as text.
    static func segment(_ context: [String: FlagValue]) -> FlagshipHit {
        FlagshipHit("SEGMENT", own: ["s": .object(context.compactMapValues(text))])
    }

    private static func text(_ value: FlagValue) -> FlagValue? {
        switch value {
        case .bool(let value): .string(String(value))
        case .int(let value): .string(String(value))
        case .double(let value): .string(String(value))
        case .string: value
        case .null, .array, .object: nil
        }
    }

    /// Whether this tells of consent, and so passes although consent was refused.
    var isConsent: Bool { type == "EVENT" && own["ea"] == "fs_consent" }
}
