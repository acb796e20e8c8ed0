import Experimentation
import Foundation

// MARK: - The vendor's decisions

extension FlagshipFlagMetadata {
    /// The assignment: the campaign is the experiment, and stickiness is keyed by the variation group.
    var assignment: Assignment { assignment(describedBy: toDictionary()) }

    /// Returns the assignment from the caller's own ``toDictionary()`` result; copies of a dictionary share storage.
    func assignment(describedBy metadata: [String: FlagValue]) -> Assignment {
        Assignment(
            experiment: Experiment(
                id: campaignId,
                name: campaignName.isEmpty ? nil : campaignName,
                kind: campaignType.isEmpty ? nil : campaignType
            ),
            group: variationGroupId,
            variation: Variation(
                id: variationId,
                name: variationName.isEmpty ? nil : variationName,
                isControl: isReference
            ),
            metadata: metadata
        )
    }

    /// Returns the resolution of a flag with this metadata; the variant is the variation's id, which renaming doesn't
    /// change.
    func resolution(of value: FlagValue, assignment: Int, describedBy metadata: [String: FlagValue]) -> Resolution {
        Resolution(value, variant: variationId, reason: reason, metadata: metadata, assignment: assignment)
    }

    /// The reason, derived from the campaign's type because the vendor states none: a test splits its visitors, and
    /// every other kind targets them.
    var reason: Reason {
        switch campaignType.lowercased() {
        case "ab": .split
        case "": .unknown
        default: .targetingMatch
        }
    }
}

extension [DecidedCampaign] {
    /// The campaigns as neutral decisions; of two with the same flag, the later one counts.
    ///
    /// As in the original, a visitor isn't assigned to a campaign if later campaigns set all of its flags. A visitor is
    /// assigned to a campaign that sets no flags in the first place, as a control often does.
    var decisions: Decisions {
        var flags: [FlagCatalogue.Flag] = []
        var assignments: [Assignment] = []
        for (place, campaign) in enumerated() {
            let (origin, metadata) = (campaign.origin, campaign.origin.toDictionary())
            for (key, value) in campaign.flags {
                let resolution = origin.resolution(of: value, assignment: place, describedBy: metadata)
                flags.append(FlagCatalogue.Flag(key, outcomes: [resolution]))
            }
            assignments.append(origin.assignment(describedBy: metadata))
        }
        let catalogue = FlagCatalogue(flags: flags, assignments: assignments)
        return Decisions(
            catalogue: catalogue,
            outcomes: [Int?](repeating: 0, count: catalogue.count),
            alsoAssigned: indices.filter { self[$0].flags.isEmpty }
        )
    }
}

// MARK: - The visitor

extension Identity {
    /// The ids as Flagship takes them: an empty id counts as none, and if there is only one, it is `visitor`.
    var flagship: (visitor: String, anonymous: String?) {
        guard let anonymousID, !anonymousID.isEmpty else { return (id, nil) }
        let isAnonymous = !isAuthenticated && ExactText(id) == ExactText(anonymousID)
        return id.isEmpty || isAnonymous ? (anonymousID, nil) : (id, anonymousID)
    }
}

extension EvaluationContext {
    /// The id by which campaigns are decided.
    var flagshipVisitor: String { user.id.isEmpty ? user.anonymousID ?? "" : user.id }

    /// Returns a visitor's whole context: the device's, the application's, and the visitor's id.
    ///
    /// Values that the vendor has no type for (lists, objects, null, numbers that aren't finite) are left out.
    func flagshipContext(_ automatic: [String: FlagValue]) -> [String: FlagValue] {
        var context = automatic
        for (name, value) in user.attributes.values where FlagshipTranslation.isContextValue(value) {
            context[name] = value
        }
        context[FlagshipContextKey.users] = .string(flagshipVisitor)
        return context
    }

    /// Returns the body of a request for campaigns.
    func flagshipQuestion(_ automatic: [String: FlagValue]) -> FlagValue {
        let ids = user.identity.flagship
        var members: [String: FlagValue] = [
            "visitor_id": .string(ids.visitor),
            "context": .object(flagshipContext(automatic)),
            // Exposures are reported when they happen, never by a request for campaigns.
            "trigger_hit": false,
            "visitor_consent": .bool(user.consent == .granted),
        ]
        if let anonymous = ids.anonymous { members["anonymousId"] = .string(anonymous) }
        return .object(members)
    }
}

enum FlagshipTranslation {
    /// Whether the vendor has a type for a context value.
    static func isContextValue(_ value: FlagValue) -> Bool {
        switch value {
        case .bool, .int, .string: true
        case .double(let number): number.isFinite
        case .null, .array, .object: false
        }
    }

    /// Returns the hits for an event: several for a purchase, and none for an exposure, which has its own wire format.
    ///
    /// The event's id identifies an order without an id of its own.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for an event that the vendor has no hit for, ``ErrorCode/invalidArgument``
    ///   for one that the collector wouldn't take.
    static func hits(of event: TrackingEvent, id: String) throws(ExperimentationError) -> [FlagshipHit] {
        var hits = try ownHits(of: event, id: id)
        for index in hits.indices {
            hits[index].addCommon(event.attributes)
            try hits[index].validate()
        }
        return hits
    }

    /// Returns the hits for an event without the parameters that all hits share.
    static func ownHits(of event: TrackingEvent, id: String) throws(ExperimentationError) -> [FlagshipHit] {
        switch event.kind {
        case .custom(let name, let value):
            return [.event(.actionTracking, action: name, label: label(event), value: try whole(value, name))]
        case .goalCompleted(let name): return [.event(.actionTracking, action: name, label: label(event))]
        case .screenView(let name): return [.screen(name)]
        case .pageView(let url): return [.page(url)]
        case .purchase(let order): return try purchase(order, id: id)
        case .consentChanged(let isGranted): return [.consent(isGranted)]
        case .native(let native): return [try FlagshipHit(native)]
        case .exposure: return []
        default:
            throw ExperimentationError(
                .unsupported,
                "Flagship has no hit for \(event.type); a custom event can say it in words of your own"
            )
        }
    }

    /// Returns the label of an event whose hit has one.
    static func label(_ event: TrackingEvent) -> String? {
        switch event.kind {
        case .custom, .goalCompleted: event.attributes["label"]?.stringValue
        default: nil
        }
    }

    private static func whole(_ value: Double?, _ name: String) throws(ExperimentationError) -> UInt? {
        guard let value else { return nil }
        guard let whole = UInt(exactly: value), whole <= UInt(Int.max) else {
            throw ExperimentationError(
                .invalidArgument,
                "the value of \"\(name)\" must be a whole number from 0 on: Flagship counts in these alone"
            )
        }
        return whole
    }

    /// Treats an empty text as missing.
    private static func given(_ text: String?) -> String? { text?.isEmpty == true ? nil : text }

    private static func purchase(_ order: Order, id: String) throws(ExperimentationError) -> [FlagshipHit] {
        let number = given(order.id) ?? id
        for line in order.lines where line.quantity < 1 {
            throw ExperimentationError(.invalidArgument, "the quantity of \(line.item.id) must be 1 or more")
        }
        let sum = order.lines.reduce(Decimal(0)) { $0 + ($1.item.price ?? 0) * Decimal($1.quantity) }
        let (count, isOverflow) = order.lines.reduce((0, false)) { sum, line in
            let (next, overflow) = sum.0.addingReportingOverflow(line.quantity)
            return (next, sum.1 || overflow)
        }
        if isOverflow { throw ExperimentationError(.invalidArgument, "the quantities add up to too much") }
        let transaction = FlagshipHit.transaction(
            id: number,
            // The vendor reports by this name and takes no order without it.
            affiliation: given(order.affiliation) ?? "purchase",
            revenue: (order.total ?? (order.lines.isEmpty ? nil : sum)).map(Double.init(nearestTo:)),
            shipping: order.shipping.map(Double.init(nearestTo:)),
            tax: order.tax.map(Double.init(nearestTo:)),
            currency: order.currency,
            paymentMethod: order.paymentMethod,
            shippingMethod: order.shippingMethod,
            itemCount: order.lines.isEmpty ? nil : count,
            couponCode: order.coupon
        )
        let items = order.lines.map { line in
            FlagshipHit.item(
                transactionID: number,
                name: given(line.item.name) ?? line.item.id,
                code: line.item.id,
                price: line.item.price.map(Double.init(nearestTo:)) ?? 0,
                quantity: line.quantity,
                category: line.item.categories.first
            )
        }
        return [transaction] + items
    }
}
