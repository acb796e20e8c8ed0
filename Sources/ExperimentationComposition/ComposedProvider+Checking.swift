import Experimentation
import Foundation

extension ComposedProvider {
    /// Checks what depends on started vendors: that each row names vendors that can serve it.
    func check(_ parts: [Part]) throws(ExperimentationError) {
        func part(_ name: String) -> Part? { parts.first { $0.name == name } }
        for name in decisions.rows.flatMap(\.vendors) + (decisions.others ?? [])
        where part(name)?.roles.decisions == nil {
            throw .composition("decisions", "\(name) decides nothing")
        }
        for (type, names) in events.rows.sorted(by: { $0.key < $1.key }) {
            for name in names {
                guard let routes = part(name)?.routes, !routes.isEmpty else {
                    throw .composition("events.\(type)", "\(name) takes no events")
                }
                guard let sample = sample(type, for: name, parts) else { continue }
                if !routes.contains(where: { $0.sink.takes(sample) }) {
                    throw .composition("events.\(type)", "\(name) has no word for it")
                }
            }
        }
        var routes: [Destination: String] = [:]
        for part in parts {
            for route in part.routes {
                if let other = routes.updateValue(part.name, forKey: route.destination) {
                    throw .composition("vendors.\(part.name)", "its events go to the same account as those of \(other)")
                }
            }
        }
    }

    private func sample(_ type: String, for name: String, _ parts: [Part]) -> TrackingEvent? {
        guard type == "exposure" else { return TrackingEvent.samples[type] }
        let exposure = Exposure(assignment: .sample)
        let takesIt = parts.contains { $0.name == name && $0.takesExposures }
        return takesIt ? TrackingEvent(.exposure(exposure)) : exposures.event(for: exposure)
    }
}

extension Assignment {
    fileprivate static let sample = Assignment(
        experiment: Experiment(id: "experiment"),
        variation: Variation(id: "variation")
    )
}

extension TrackingEvent {
    /// A sample event of each kind that has the same form for every vendor.
    fileprivate static let samples: [String: TrackingEvent] = {
        let item = CatalogItem(id: "item", name: "item", price: 1, currency: "EUR")
        let line = LineItem(item: item)
        let campaign = Campaign(id: "campaign", target: "target", experience: Variation(id: "experience"))
        let events: [TrackingEvent] = [
            .custom("event"), .screenView("screen"), .pageView("https://example.com/"), .goalCompleted("goal"),
            .goalAbandoned("goal"), .viewItem(item), .viewItemDetail(item), .viewCategory(item), .viewTag(item),
            .addToCart(line), .removeFromCart(line), .replaceCart([line]),
            .purchase(Order(id: "order", lines: [line], total: 1, currency: "EUR")), .review(item), .share(item),
            .comment(item), .favorite(item), .installed, .sessionStarted, .sessionEnded(seconds: 1),
            .notificationReceived(NotificationContent(message: "message")),
            .notificationOpened(NotificationContent(message: "message")), .campaignImpression(campaign),
            .campaignDismissal(campaign), .campaignClick(campaign), TrackingEvent(.consentChanged(granted: true)),
        ]
        return Dictionary(events.map { ($0.type, $0) }, uniquingKeysWith: { $1 })
    }()
}
