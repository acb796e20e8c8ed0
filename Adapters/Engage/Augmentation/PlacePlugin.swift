import Experimentation
import Foundation

/// A plug-in that adds a feed's data about the place of a behavior.
struct PlacePlugin: AugmentationPlugin {
    /// The parts that it adds, in the reference's order.
    enum Part: CaseIterable {
        /// The coordinates.
        case coordinates
        /// The place in one line.
        case address
        /// The place's own name, unless the application has set one.
        case name
    }

    let part: Part
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames

    var isSynchronous: Bool { part != .name }

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        guard feed.isUsable else { return .never }
        let (isKnown, latest, timeout) =
            part == .coordinates
            ? (feed.position(at: event.date) != nil, feed.latestPosition, feed.settings.acquisitionTimeout)
            : (feed.placemark(at: event.date) != nil, feed.latestPlacemark, feed.settings.placemarkTimeout)
        if isKnown { return .ready }
        // Once there is data for a later moment, none arrives any more for this one.
        let hasPassed = latest.map { $0 > event.date.addingTimeInterval(timeout / .seconds(1)) } ?? false
        return hasPassed || event.age + waited >= timeout ? .never : .notYet
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        var event = event
        switch part {
        case .coordinates:
            let position = feed.position(at: event.date)
            event[names.longitude] = position.map { Self.text($0.longitude) }
            event[names.latitude] = position.map { Self.text($0.latitude) }
        case .address: event[names.locationAddress] = feed.placemark(at: event.date)?.address
        case .name:
            if event[names.locationName] == nil { event[names.locationName] = feed.placemark(at: event.date)?.name }
        }
        return event
    }

    /// At most ten decimal places, rounded away from zero.
    static func text(_ degrees: Double) -> String {
        // It uses decimal arithmetic, because a number with at most ten places must stay unchanged.
        var exact = Decimal(string: String(degrees.magnitude)) ?? 0
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, 10, .up)
        return (degrees < 0 ? "-" : "") + rounded.description
    }
}

extension LocationFeed {
    /// The three plug-ins of the reference, in its order.
    public func plugins(names: EngageConfiguration.AttributeNames) -> [any AugmentationPlugin] {
        PlacePlugin.Part.allCases.map { PlacePlugin(part: $0, feed: self, names: names) }
    }
}
