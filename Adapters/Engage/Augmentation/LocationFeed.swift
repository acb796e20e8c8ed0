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
        var settings: EngageConfiguration.Location
        var positions: [Position] = []
        var placemarks: [Placemark] = []
        var isAllowed = true
    }

    /// How many positions and places are kept.
    static let longest = 1_000

    /// The settings: those of the configuration that has the plug-ins, from the moment when a provider is started with it.
    public var settings: EngageConfiguration.Location { state.withLock(\.settings) }
    private let state: Mutex<State>

    /// Creates a feed.
    ///
    /// - Parameter settings: What counts until a provider is started.
    public init(_ settings: EngageConfiguration.Location = .init()) { state = Mutex(State(settings: settings)) }

    /// Goes by other settings from now on.
    func adopt(_ settings: EngageConfiguration.Location) { state.withLock { $0.settings = settings } }

    /// Takes a position, if it lies far enough from the last one.
    ///
    /// How exactly positions are wanted is a hint for the source of positions: none is left out for being inexact.
    ///
    /// - Parameter position: Where the device is.
    /// - Returns: Whether it was taken.
    @discardableResult
    public func update(_ position: Position) -> Bool {
        guard (-90...90).contains(position.latitude), (-180...180).contains(position.longitude),
            position.accuracy >= 0
        else { return false }
        return state.withLock { state in
            let filter = state.settings.distanceFilter
            if let last = state.positions.last, Self.meters(last, position) < filter { return false }
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
    public var isUsable: Bool { state.withLock { $0.settings.isEnabled && $0.isAllowed } }

    /// The position at a moment: the last before it, or else the first that was found within the time that it is waited for.
    public func position(at date: Date) -> Position? {
        state.withLock { state in
            if let before = state.positions.last(where: { $0.date <= date }) { return before }
            let end = date.addingTimeInterval(state.settings.acquisitionTimeout / .seconds(1))
            return state.positions.first { $0.date <= end }
        }
    }

    /// The place at a moment: the last before it that isn't older than the settings say, or else the first that was found
    /// within the time that it is waited for.
    public func placemark(at date: Date) -> Placemark? {
        state.withLock { state in
            let begin = date.addingTimeInterval(-(state.settings.cacheLifespan / .seconds(1)))
            let end = date.addingTimeInterval(state.settings.placemarkTimeout / .seconds(1))
            return state.placemarks.last { $0.date >= begin && $0.date <= date }
                ?? state.placemarks.first { $0.date > date && $0.date <= end }
        }
    }

    /// Whether a position for a moment can't come any more, because there are later ones.
    func hasPassedPosition(at date: Date) -> Bool {
        state.withLock { state in
            let end = date.addingTimeInterval(state.settings.acquisitionTimeout / .seconds(1))
            return state.positions.last.map { $0.date > end } ?? false
        }
    }

    /// Whether a place for a moment can't come any more, because there are later ones.
    func hasPassedPlacemark(at date: Date) -> Bool {
        state.withLock { state in
            let end = date.addingTimeInterval(state.settings.placemarkTimeout / .seconds(1))
            return state.placemarks.last.map { $0.date > end } ?? false
        }
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
