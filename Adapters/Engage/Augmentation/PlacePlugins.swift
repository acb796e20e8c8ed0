import Experimentation
import Foundation

/// A plug-in that adds a feed's data about the place of a behavior.
protocol PlacePlugin: AugmentationPlugin {
    /// The feed to read.
    var feed: LocationFeed { get }
}

extension PlacePlugin {
    /// Whether a place that isn't known yet may still be found in time, which begins with the behavior.
    fileprivate func patience(
        for event: AugmentedEvent,
        waited: Duration,
        _ timeout: Duration
    ) -> AugmentationReadiness {
        event.age + waited >= timeout ? .never : .notYet
    }
}

/// Adds the coordinates.
struct CoordinatesPlugin: PlacePlugin {
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames
    let isSynchronous = true

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        guard feed.isUsable else { return .never }
        if feed.position(at: event.date) != nil { return .ready }
        if feed.hasPassedPosition(at: event.date) { return .never }
        return patience(for: event, waited: waited, feed.settings.acquisitionTimeout)
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        guard let position = feed.position(at: event.date) else { return event }
        var event = event
        event[names.longitude] = Self.text(position.longitude)
        event[names.latitude] = Self.text(position.latitude)
        return event
    }

    /// At most ten decimal places, rounded away from zero.
    static func text(_ degrees: Double) -> String {
        // Decimal, because a number with at most ten places must stay as it is.
        var exact = Decimal(string: String(degrees.magnitude)) ?? 0
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, 10, .up)
        return (degrees < 0 ? "-" : "") + rounded.description
    }
}

/// Adds the place in one line.
struct PlacemarkPlugin: PlacePlugin {
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames
    let isSynchronous = true

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        guard feed.isUsable else { return .never }
        if feed.placemark(at: event.date) != nil { return .ready }
        if feed.hasPassedPlacemark(at: event.date) { return .never }
        return patience(for: event, waited: waited, feed.settings.placemarkTimeout)
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        var event = event
        event[names.locationAddress] = feed.placemark(at: event.date)?.address
        return event
    }
}

/// Adds the place's own name, unless the application has set one.
struct LocationNamePlugin: PlacePlugin {
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames
    let isSynchronous = false

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        PlacemarkPlugin(feed: feed, names: names).readiness(for: event, waited: waited)
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        guard event[names.locationName] == nil else { return event }
        var event = event
        event[names.locationName] = feed.placemark(at: event.date)?.name
        return event
    }
}

extension LocationFeed {
    /// The three plug-ins of the reference, in its order.
    public func plugins(names: EngageConfiguration.AttributeNames) -> [any AugmentationPlugin] {
        [
            CoordinatesPlugin(feed: self, names: names), PlacemarkPlugin(feed: self, names: names),
            LocationNamePlugin(feed: self, names: names),
        ]
    }
}
