/// Matches received campaigns with handlers: which handler gets which campaign, when, and in which order.
///
/// A pure state machine. A *surface* is a part of the application (`nil` is the whole application), a *target* the name
/// that a handler is registered under. A campaign is handed out when its surface is deliverable, the application is in
/// use, and the target has a handler. Until then the newest of each surface and target are held, and older ones are
/// discarded. The board's owner calls the handlers, on the main actor and never within the call that made them due.
struct CampaignBoard: Sendable {
    /// A campaign that is due, with the handler to call.
    struct Delivery: Sendable {
        /// The handler to call.
        var handler: CampaignHandler
        /// The campaign to pass to it.
        var campaign: Campaign
        /// The surface that shows it.
        var surface: String?
        /// The surface's epoch when the campaign was received.
        var epoch: UInt64
        /// Its position in the order of receipt.
        fileprivate var order: UInt64
    }

    private struct Held {
        var campaign: Campaign
        var order: UInt64
    }

    private struct Surface {
        var epoch: UInt64
        var isDeliverable: Bool
        var handlers: [String: CampaignHandler] = [:]
        /// Held campaigns by target, in the order of receipt.
        var held: [String: [Held]] = [:]
    }

    private let limitPerTarget: Int
    private let isDeliverableUnlessSaid: Bool
    private var isInUse = true
    private var surfaces: [String?: Surface] = [:]
    private var lastEpoch: UInt64 = 0
    private var lastOrder: UInt64 = 0

    /// Creates an empty board.
    ///
    /// - Parameters:
    ///   - limitPerTarget: How many campaigns to hold for each surface and target; none if it is below one.
    ///   - isDeliverableUnlessSaid: Whether a surface is deliverable until its state is set.
    init(limitPerTarget: Int = 1, isDeliverableUnlessSaid: Bool = true) {
        self.limitPerTarget = max(0, limitPerTarget)
        self.isDeliverableUnlessSaid = isDeliverableUnlessSaid
    }

    // MARK: Events

    /// Returns the epoch to store with an event of this surface when it is tracked.
    ///
    /// Campaigns that answer an event of an earlier epoch are too late and are dropped.
    mutating func epoch(of surface: String?) -> UInt64 {
        surfaces[open(surface)]?.epoch ?? 0
    }

    /// Takes the campaigns that answer one event.
    ///
    /// - Parameters:
    ///   - campaigns: In the vendor's order.
    ///   - key: The surface where the event happened.
    ///   - epoch: What ``epoch(of:)`` returned when the event was tracked; `nil` if that is no longer known, in which
    ///     case the surface's current epoch counts.
    /// - Returns: The campaigns that are due now.
    mutating func receive(_ campaigns: [Campaign], surface key: String?, epoch: UInt64?) -> [Delivery] {
        if campaigns.isEmpty { return [] }
        if epoch == nil { open(key) }
        guard var surface = surfaces[key], epoch == nil || epoch == surface.epoch else { return [] }
        var due: [Delivery] = []
        for campaign in campaigns {
            lastOrder += 1
            if isInUse, surface.isDeliverable, let handler = surface.handlers[campaign.target] {
                due.append(
                    Delivery(
                        handler: handler,
                        campaign: campaign,
                        surface: key,
                        epoch: surface.epoch,
                        order: lastOrder
                    )
                )
            } else {
                surface.held[campaign.target, default: []].append(
                    Held(campaign: campaign, order: lastOrder)
                )
                trim(&surface, target: campaign.target)
            }
        }
        surfaces[key] = surface
        return due
    }

    /// Registers, replaces or, with `nil`, removes the handler of a target.
    ///
    /// Held campaigns stay held when the handler is removed.
    mutating func setHandler(_ handler: CampaignHandler?, target: String, surface: String?)
        -> [Delivery]
    {
        let key = open(surface)
        surfaces[key]?.handlers[target] = handler
        return drain([key])
    }

    /// Sets whether a surface is visible, and so whether its handlers may be called.
    mutating func setDeliverable(_ isDeliverable: Bool, surface: String?) -> [Delivery] {
        let key = open(surface)
        surfaces[key]?.isDeliverable = isDeliverable
        return drain([key])
    }

    /// Sets whether the application is in the foreground and in use; otherwise nothing is handed out.
    mutating func setInUse(_ isInUse: Bool) -> [Delivery] {
        self.isInUse = isInUse
        return drain(Array(surfaces.keys))
    }

    /// Removes a surface's handlers and campaigns, and ignores the answers to its earlier events.
    @discardableResult
    mutating func clear(surface: String?) -> [Delivery] {
        let key = open(surface)
        let epoch = nextEpoch()
        surfaces[key]?.handlers = [:]
        surfaces[key]?.held = [:]
        surfaces[key]?.epoch = epoch
        return []
    }

    /// Removes a surface that won't come back.
    ///
    /// Answers to its events are dropped from now on.
    mutating func close(surface: String?) {
        surfaces[surface] = nil
    }

    /// Drops all held campaigns and ignores the answers to all earlier events; handlers stay.
    mutating func dropHeld() {
        for key in surfaces.keys {
            let epoch = nextEpoch()
            surfaces[key]?.held = [:]
            surfaces[key]?.epoch = epoch
        }
    }

    // MARK: On the main actor

    /// Returns the handler to call for a delivery that was made due earlier, now that its turn has come.
    ///
    /// If the handler was replaced in the meantime, the new one is called. If it was removed, or the surface is no
    /// longer deliverable, the campaign is held again, before any newer one. If the surface was cleared, the campaign
    /// is dropped.
    mutating func redeem(_ delivery: Delivery) -> CampaignHandler? {
        let target = delivery.campaign.target
        guard var surface = surfaces[delivery.surface], surface.epoch == delivery.epoch else {
            return nil
        }
        if isInUse, surface.isDeliverable, let handler = surface.handlers[target] { return handler }
        surface.held[target, default: []].append(
            Held(campaign: delivery.campaign, order: delivery.order)
        )
        surface.held[target]?.sort { $0.order < $1.order }
        trim(&surface, target: target)
        surfaces[delivery.surface] = surface
        return nil
    }

    // MARK: State

    /// The campaigns held for a surface, in the order of receipt.
    func held(surface: String?) -> [Campaign] {
        (surfaces[surface]?.held.values.flatMap { $0 } ?? [])
            .sorted { $0.order < $1.order }
            .map(\.campaign)
    }

    /// The targets of a surface that have handlers, sorted.
    func targets(surface: String?) -> [String] {
        surfaces[surface]?.handlers.keys.sorted() ?? []
    }

    /// Whether a surface is known and hasn't been closed.
    func isOpen(_ surface: String?) -> Bool { surfaces[surface] != nil }

    /// The number of known surfaces.
    var count: Int { surfaces.count }

    // MARK: Parts

    @discardableResult
    private mutating func open(_ key: String?) -> String? {
        if surfaces[key] == nil {
            surfaces[key] = Surface(epoch: nextEpoch(), isDeliverable: isDeliverableUnlessSaid)
        }
        return key
    }

    private mutating func nextEpoch() -> UInt64 {
        lastEpoch += 1
        return lastEpoch
    }

    private func trim(_ surface: inout Surface, target: String) {
        guard let excess = surface.held[target].map({ $0.count - limitPerTarget }), excess > 0 else {
            return
        }
        surface.held[target]?.removeFirst(excess)
        if limitPerTarget == 0 { surface.held[target] = nil }
    }

    private mutating func drain(_ keys: [String?]) -> [Delivery] {
        guard isInUse else { return [] }
        var due: [Delivery] = []
        for key in keys {
            guard var surface = surfaces[key], surface.isDeliverable, !surface.held.isEmpty else {
                continue
            }
            for (target, handler) in surface.handlers {
                guard let held = surface.held.removeValue(forKey: target) else { continue }
                for one in held {
                    due.append(
                        Delivery(
                            handler: handler,
                            campaign: one.campaign,
                            surface: key,
                            epoch: surface.epoch,
                            order: one.order
                        )
                    )
                }
            }
            surfaces[key] = surface
        }
        return due.sorted { $0.order < $1.order }
    }
}
