import Experimentation
import Foundation
import Synchronization

/// Where the device was when: fed by the application, read by the plug-ins for places.
///
/// ```swift
/// let places = LocationFeed(configuration.location)
/// configuration.augmentation.plugins = places.plugins(names: configuration.attributes)
/// // in the location manager's delegate:
/// places.update(.init(latitude: 48.2, longitude: 16.4, accuracy: 5, date: now))
/// ```
public final class LocationFeed: Sendable {
    /// A position.
    public struct Position: Sendable, Hashable {
        /// Degrees north, from -90 to 90.
        public var latitude: Double
        /// Degrees east, from -180 to 180.
        public var longitude: Double
        /// Metres within which it is known.
        public var accuracy: Double
        /// When the device was there.
        public var date: Date
        /// Creates a position.
        public init(latitude: Double, longitude: Double, accuracy: Double = 0, date: Date) {
            self.latitude = latitude
            self.longitude = longitude
            self.accuracy = accuracy
            self.date = date
        }
    }

    /// A place by its names.
    public struct Placemark: Sendable, Hashable {
        /// The place's own name.
        public var name: String?
        /// The city.
        public var city: String?
        /// The state.
        public var state: String?
        /// The postal code.
        public var postalCode: String?
        /// The country.
        public var country: String?
        /// The country's code.
        public var countryCode: String?
        /// When the device was there.
        public var date: Date

        /// Creates a place.
        public init(
            name: String? = nil,
            city: String? = nil,
            state: String? = nil,
            postalCode: String? = nil,
            country: String? = nil,
            countryCode: String? = nil,
            date: Date
        ) {
            self.name = name
            self.city = city
            self.state = state
            self.postalCode = postalCode
            self.country = country
            self.countryCode = countryCode
            self.date = date
        }

        /// `City, State ZIP, Country (CountryCode)`, without the parts that aren't known; `nil` if none is.
        public var address: String? {
            func joined(_ parts: [String?], _ separator: String) -> String? {
                let known = parts.compactMap { $0 }.filter { !$0.isEmpty }
                return known.isEmpty ? nil : known.joined(separator: separator)
            }
            let code = countryCode.flatMap { $0.isEmpty ? nil : "(\($0))" }
            return joined([city, joined([state, postalCode], " "), joined([country, code], " ")], ", ")
        }
    }

    private struct State {
        var positions: [Position] = []
        var placemarks: [Placemark] = []
        var isAllowed = true
    }

    /// How many positions and places are kept.
    static let longest = 1_000

    /// The settings.
    public let settings: EngageConfiguration.Location
    private let state = Mutex(State())

    /// Creates a feed.
    public init(_ settings: EngageConfiguration.Location = .init()) { self.settings = settings }

    /// Takes a position, if it is known well enough and far enough from the last one.
    ///
    /// - Parameter position: Where the device is.
    /// - Returns: Whether it was taken.
    @discardableResult
    public func update(_ position: Position) -> Bool {
        guard (-90...90).contains(position.latitude), (-180...180).contains(position.longitude),
            position.accuracy >= 0, position.accuracy <= settings.precision.meters
        else { return false }
        return state.withLock { state in
            if let last = state.positions.last, Self.meters(last, position) < settings.distanceFilter { return false }
            state.positions.append(position)
            if state.positions.count > Self.longest { state.positions.removeFirst() }
            return true
        }
    }

    /// Takes a place.
    public func update(_ placemark: Placemark) {
        state.withLock { state in
            state.placemarks.append(placemark)
            if state.placemarks.count > Self.longest { state.placemarks.removeFirst() }
        }
    }

    /// Tells whether the user lets the application know where the device is; without, nothing waits for a place.
    public func setAllowed(_ isAllowed: Bool) { state.withLock { $0.isAllowed = isAllowed } }

    /// Whether a place may come at all.
    public var isUsable: Bool { settings.isEnabled && state.withLock(\.isAllowed) }

    /// The position at a moment: the last before it, or the first after it.
    public func position(at date: Date) -> Position? {
        state.withLock { state in state.positions.last { $0.date <= date } ?? state.positions.first }
    }

    /// The place at a moment, if it isn't older than the settings say.
    public func placemark(at date: Date) -> Placemark? {
        let lifespan = settings.cacheLifespan
        let placemark = state.withLock { state in
            state.placemarks.last { $0.date <= date } ?? state.placemarks.first
        }
        guard let placemark, date.timeIntervalSince(placemark.date) <= lifespan / .seconds(1) else { return nil }
        return placemark
    }

    /// The three plug-ins of the reference, in its order.
    public func plugins(names: EngageConfiguration.AttributeNames) -> [any AugmentationPlugin] {
        [
            CoordinatesPlugin(feed: self, names: names), PlacemarkPlugin(feed: self, names: names),
            LocationNamePlugin(feed: self, names: names),
        ]
    }

    private static func meters(_ one: Position, _ other: Position) -> Double {
        let radians = Double.pi / 180
        let (a, b) = (one.latitude * radians, other.latitude * radians)
        let halfLatitude = sin((b - a) / 2)
        let halfLongitude = sin((other.longitude - one.longitude) * radians / 2)
        let chord = halfLatitude * halfLatitude + cos(a) * cos(b) * halfLongitude * halfLongitude
        return 12_742_017.6 * asin(min(1, chord.squareRoot()))
    }
}

/// Adds the coordinates.
struct CoordinatesPlugin: AugmentationPlugin {
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames
    let isSynchronous = true

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        guard feed.isUsable else { return .never }
        if feed.position(at: event.date) != nil { return .ready }
        return waited >= feed.settings.acquisitionTimeout ? .never : .notYet
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        guard let position = feed.position(at: event.date) else { return event }
        var event = event
        event[names.longitude] = Self.text(position.longitude)
        event[names.latitude] = Self.text(position.latitude)
        return event
    }

    /// At most ten digits after the point, rounded away from zero.
    static func text(_ degrees: Double) -> String {
        let scaled = degrees * 1e10
        let rounded = (scaled < 0 ? scaled.rounded(.down) : scaled.rounded(.up))
        // A number that has its ten digits already must not be pushed on by the error of the multiplication.
        let exact = (scaled - scaled.rounded()).magnitude < 1e-4 ? scaled.rounded() : rounded
        let whole = Int64(exact.magnitude)
        let digits = String(whole % 10_000_000_000)
        var fraction = String(repeating: "0", count: 10 - digits.count) + digits
        while fraction.hasSuffix("0") { fraction.removeLast() }
        let sign = exact < 0 ? "-" : ""
        return sign + String(whole / 10_000_000_000) + (fraction.isEmpty ? "" : "." + fraction)
    }
}

/// Adds the place in one line.
struct PlacemarkPlugin: AugmentationPlugin {
    let feed: LocationFeed
    let names: EngageConfiguration.AttributeNames
    let isSynchronous = true

    func readiness(for event: AugmentedEvent, waited: Duration) -> AugmentationReadiness {
        guard feed.isUsable else { return .never }
        if feed.placemark(at: event.date) != nil { return .ready }
        return waited >= feed.settings.placemarkTimeout ? .never : .notYet
    }

    func process(_ event: AugmentedEvent) -> AugmentedEvent {
        var event = event
        event[names.locationAddress] = feed.placemark(at: event.date)?.address
        return event
    }
}

/// Adds the place's own name, unless the application has named one.
struct LocationNamePlugin: AugmentationPlugin {
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
