import Experimentation
import Foundation
import Synchronization

/// The device's positions and places over time: fed by the application, read by the location plug-ins.
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
        /// The accuracy in meters.
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

    /// A named place.
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

        /// `City, State ZIP, Country (CountryCode)`, without unknown parts; `nil` if none is known.
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

    /// The maximum number of positions and places kept.
    static let longest = 1_000

    /// The settings; once a provider is started with a configuration that has the plug-ins, that configuration's
    /// settings.
    public var settings: EngageConfiguration.Location { state.withLock(\.settings) }
    private let state: Mutex<State>

    /// Creates a feed.
    ///
    /// - Parameter settings: The settings until a provider is started.
    public init(_ settings: EngageConfiguration.Location = .init()) { state = Mutex(State(settings: settings)) }

    /// Replaces the settings.
    func adopt(_ settings: EngageConfiguration.Location) { state.withLock { $0.settings = settings } }

    /// Adds a position, if it is far enough from the last one.
    ///
    /// The desired accuracy is a hint for the source of positions: inaccurate positions aren't left out.
    ///
    /// - Parameter position: Where the device is.
    /// - Returns: Whether it was added.
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

    /// Adds a place.
    public func update(_ placemark: Placemark) {
        state.withLock { state in
            state.placemarks.append(placemark)
            if state.placemarks.count > Self.longest { state.placemarks.removeFirst() }
        }
    }

    /// Sets whether the user allows the application to know the location; if not, nothing waits for a place.
    public func setAllowed(_ isAllowed: Bool) { state.withLock { $0.isAllowed = isAllowed } }

    /// Whether a place may arrive at all.
    public var isUsable: Bool { state.withLock { $0.settings.isEnabled && $0.isAllowed } }

    /// Returns the position at a moment: the last one before it, or else the first one found within the acquisition
    /// time-out.
    public func position(at date: Date) -> Position? {
        state.withLock { state in
            if let before = state.positions.last(where: { $0.date <= date }) { return before }
            let end = date.addingTimeInterval(state.settings.acquisitionTimeout / .seconds(1))
            return state.positions.first { $0.date <= end }
        }
    }

    /// Returns the place at a moment: the last one before it that isn't older than the settings allow, or else the
    /// first one found within the time-out.
    public func placemark(at date: Date) -> Placemark? {
        state.withLock { state in
            let begin = date.addingTimeInterval(-(state.settings.cacheLifespan / .seconds(1)))
            let end = date.addingTimeInterval(state.settings.placemarkTimeout / .seconds(1))
            return state.placemarks.last { $0.date >= begin && $0.date <= date }
                ?? state.placemarks.first { $0.date > date && $0.date <= end }
        }
    }

    /// When the device was at the latest position.
    var latestPosition: Date? { state.withLock { $0.positions.last?.date } }

    /// When the device was at the latest place.
    var latestPlacemark: Date? { state.withLock { $0.placemarks.last?.date } }

    private static func meters(_ one: Position, _ other: Position) -> Double {
        let radians = Double.pi / 180
        let (a, b) = (one.latitude * radians, other.latitude * radians)
        let halfLatitude = sin((b - a) / 2)
        let halfLongitude = sin((other.longitude - one.longitude) * radians / 2)
        let chord = halfLatitude * halfLatitude + cos(a) * cos(b) * halfLongitude * halfLongitude
        return 12_742_017.6 * asin(min(1, chord.squareRoot()))
    }
}
