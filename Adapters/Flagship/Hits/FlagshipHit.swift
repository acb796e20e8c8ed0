import Experimentation

/// One of Flagship's hits, with the parameters that all hits share.
///
/// ```swift
/// var hit = FlagshipHit.screen("login")
/// hit.common.userLanguage = "fr"
/// try await visitor.sendHit(hit)
/// ```
public struct FlagshipHit: Sendable, Hashable {
    /// The category of an event.
    public enum Category: String, Sendable, Hashable, Codable, CaseIterable {
        /// An action.
        case actionTracking = "Action Tracking"
        /// An expression of interest.
        case userEngagement = "User Engagement"
    }

    /// The parameters that every hit can carry.
    public struct Common: Sendable, Hashable {
        /// The visitor's IP address.
        public var userIP: String?
        /// The screen's size, such as `750 x 1334`.
        public var screenResolution: String?
        /// The screen's color depth.
        public var screenColorDepth: String?
        /// The visitor's language.
        public var userLanguage: String?
        /// The number of the visitor's session.
        public var sessionNumber: Int?
        /// When the session began; accepted but never sent, as in the original SDK.
        public var currentSessionTimestamp: Int64?
        /// The number of the event in its session; accepted but never sent, as in the original SDK.
        public var sessionEventNumber: Int?
        /// Where the hit happened; screens and pages have a location of their own.
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

    /// The vendor's name for the type.
    public let type: String
    /// The common parameters.
    public var common: Common
    /// The hit's own members as they are sent.
    var own: [String: FlagValue]

    init(_ type: String, own: [String: FlagValue?], common: Common = Common()) {
        self.type = type
        self.own = own.compactMapValues { $0 }
        self.common = common
    }

    /// A screen appeared.
    public static func screen(_ location: String, common: Common = Common()) -> FlagshipHit {
        at(location, "SCREENVIEW", common)
    }

    /// A page was visited; its URL isn't checked.
    public static func page(_ location: String, common: Common = Common()) -> FlagshipHit {
        at(location, "PAGEVIEW", common)
    }

    private static func at(_ location: String, _ type: String, _ common: Common) -> FlagshipHit {
        var hit = FlagshipHit(type, own: [:], common: common)
        hit.common.location = location
        return hit
    }

    /// A purchase was made.
    ///
    /// - Parameters:
    ///   - id: The transaction's own id.
    ///   - affiliation: The name of the goal in the report.
    ///   - revenue: The total paid, including shipping and tax.
    ///   - shipping: The shipping costs included.
    ///   - tax: The tax included.
    ///   - currency: The ISO 4217 code of all amounts.
    ///   - paymentMethod: The payment method.
    ///   - shippingMethod: The shipping method.
    ///   - itemCount: The number of items.
    ///   - couponCode: The coupon code.
    ///   - common: The common parameters.
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

    /// An item of a transaction that was sent before it.
    ///
    /// - Parameters:
    ///   - transactionID: The transaction's id.
    ///   - name: The product's name.
    ///   - code: The product's code.
    ///   - price: The unit price; always sent, 0 by default.
    ///   - quantity: The quantity; always sent, 0 by default.
    ///   - category: The product's category.
    ///   - common: The common parameters.
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

    /// Any other event.
    ///
    /// - Parameters:
    ///   - category: The category.
    ///   - action: The event's name in the report.
    ///   - label: Further details.
    ///   - value: Its value.
    ///   - common: The common parameters.
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

    /// A visitor's consent, in the vendor's form.
    static func consent(_ isGranted: Bool) -> FlagshipHit {
        .event(.userEngagement, action: "fs_consent", label: "\(FlagshipWire.sdkClient):\(isGranted)")
    }

    /// A visitor's whole context, with every value as a string.
    static func segment(_ context: [String: FlagValue]) -> FlagshipHit {
        let texts = context.compactMapValues { value -> FlagValue? in
            switch value {
            case .bool, .int, .double: .string(value.description)
            case .string: value
            case .null, .array, .object: nil
            }
        }
        return FlagshipHit("SEGMENT", own: ["s": .object(texts)])
    }

    /// Whether this hit reports consent, and so is sent even if consent was refused.
    var isConsent: Bool { type == "EVENT" && own["ea"] == "fs_consent" }

    /// Whether a consent hit says that consent was given.
    var grants: Bool { own["el"]?.stringValue?.hasSuffix(":true") ?? false }
}
