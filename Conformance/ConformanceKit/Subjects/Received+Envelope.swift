import Experimentation
import Foundation

extension Received {
    /// Creates a record of an event as a vendor that accepts everything unchanged would have received it.
    ///
    /// - Parameters:
    ///   - envelope: The event as sent.
    ///   - exchange: The number of the exchange that carried it.
    public init(_ envelope: Envelope, exchange: Int = 0) {
        self.init(
            type: envelope.event.type,
            userID: envelope.identity.id,
            anonymousID: envelope.identity.anonymousID,
            attributes: envelope.event.attributes.values,
            eventID: envelope.id,
            date: envelope.date,
            exchange: exchange
        )
        switch envelope.event.kind {
        case .custom(let name, let value):
            self.name = name
            self.value = value
        case .screenView(let name), .goalCompleted(let name), .goalAbandoned(let name), .pageView(let name):
            self.name = name
        case .viewItem(let item), .viewItemDetail(let item), .viewCategory(let item), .viewTag(let item):
            items = item.map { [$0.id] } ?? []
        case .share(let item), .comment(let item), .favorite(let item), .review(let item, _):
            items = [item.id]
        case .addToCart(let line), .removeFromCart(let line): items = [line.item.id]
        case .replaceCart(let lines): items = lines.map(\.item.id)
        case .purchase(let order):
            orderID = order.id
            value = order.total.map { Double(nearestTo: $0) }
            items = order.lines.map(\.item.id)
        case .campaignImpression(let campaign), .campaignDismissal(let campaign), .campaignClick(let campaign):
            self.campaign = campaign.id
        case .exposure(let exposure):
            experiment = exposure.assignment.experiment.id
            variation = exposure.assignment.variation.id
        case .consentChanged(let granted): isGranted = granted
        case .native(let event): name = event.type
        case .sessionEnded(let seconds): value = seconds
        case .installed, .sessionStarted, .notificationReceived, .notificationOpened: break
        }
    }
}
