import Experimentation
import Foundation

/// A user's properties as set by the application, each with the date at which it was set.
///
/// ```swift
/// let user = SigmaUser.Builder().setUserId("123").setCustomProperty(true, key: "isAuthorized").build()
/// ```
public struct SigmaUser: Codable, Sendable, Hashable {
    struct Entry: Sendable, Hashable {
        let value: String
        /// When it was set, in seconds since 1970.
        let time: String?

        var date: Date? {
            guard let seconds = time.flatMap({ Double($0) }), seconds.isFinite else { return nil }
            return Date(timeIntervalSince1970: seconds)
        }
    }

    /// The properties by the vendor's names.
    let entries: [String: Entry]

    init(_ entries: [String: Entry] = [:]) { self.entries = entries }

    var properties: [String: String] { entries.mapValues(\.value) }

    var dates: [String: Date] { entries.compactMapValues(\.date) }

    /// Returns the user with a date for each property that has no readable one, so that it ages too.
    func dated(_ date: Date) -> SigmaUser {
        let time = String(date.timeIntervalSince1970)
        return SigmaUser(entries.mapValues { $0.date == nil ? Entry(value: $0.value, time: time) : $0 })
    }

    /// The shape in which the vendor's SDK stores a user.
    private struct Record: Codable {
        let properties: [String: String]
        let sigmaExpiration: [String: String]
    }

    /// Decodes a user that this adapter or the vendor's SDK stored.
    public init(from decoder: any Decoder) throws {
        let record = try Record(from: decoder)
        let times = record.sigmaExpiration
        self.init(Dictionary(firstOf: record.properties.map { ($0, Entry(value: $1, time: times[$0])) }))
    }

    /// Encodes the user as the vendor's SDK does.
    public func encode(to encoder: any Encoder) throws {
        try Record(properties: properties, sigmaExpiration: entries.compactMapValues(\.time)).encode(to: encoder)
    }

    /// Sets a user's properties one at a time.
    ///
    /// Each method returns the builder. `nil` removes a property, so that the device's own value shows again.
    public final class Builder {
        /// The last value of each property that was set; `nil` for a removed one.
        private(set) var changes: [String: Entry?] = [:]
        private let time: any TimeSource

        /// Creates an empty builder.
        ///
        /// - Parameter time: The clock that dates the properties, which are valid for 24 hours.
        public init(time: any TimeSource = SystemTime()) { self.time = time }

        /// Sets the id of the anonymous user, by which experiments split.
        @discardableResult
        public func setUserId(_ id: String?) -> Builder { set("userId", id) }

        /// Sets the id of the signed-in user, by which experiments may split.
        @discardableResult
        public func setProfileId(_ id: String?) -> Builder { set("profileId", id) }

        /// Replaces the device's id, by which experiments may split.
        @discardableResult
        public func setDeviceId(_ id: String?) -> Builder { set("deviceId", id) }

        /// Sets the e-mail address.
        @discardableResult
        public func setEmail(_ email: String?) -> Builder { set("email", email) }

        /// Replaces the application's version.
        @discardableResult
        public func setAppVersion(_ version: String?) -> Builder { set("appVersion", version) }

        /// Replaces the name of the operating system.
        @discardableResult
        public func setOsName(_ name: String?) -> Builder { set("os.name", name) }

        /// Replaces the version of the operating system.
        @discardableResult
        public func setOsVersion(_ version: String?) -> Builder { set("os.version", version) }

        /// Replaces the location's code.
        @discardableResult
        public func setGeoCode(_ code: String?) -> Builder { set("geo.code", code) }

        /// Replaces the country.
        @discardableResult
        public func setGeoCountry(_ country: String?) -> Builder { set("geo.country", country) }

        /// Replaces the region.
        @discardableResult
        public func setGeoState(_ state: String?) -> Builder { set("geo.state", state) }

        /// Replaces the city.
        @discardableResult
        public func setGeoCity(_ city: String?) -> Builder { set("geo.city", city) }

        /// Sets a property of the application's own; its name gets the prefix `custom.`.
        ///
        /// - Parameters:
        ///   - value: The value, stored as its description: `true`, `2`, `2.0`.
        ///   - key: The name without the prefix.
        /// - Returns: The builder.
        @discardableResult
        public func setCustomProperty<Value: CustomStringConvertible>(_ value: Value?, key: String) -> Builder {
            let text = value.flatMap { ($0 as? FlagValue).map(\.sigmaText) ?? $0.description }
            return set(Property.customPrefix + key, text)
        }

        /// Returns the user built so far.
        public func build() -> SigmaUser { SigmaUser(changes.compactMapValues { $0 }) }

        private func set(_ name: String, _ value: String?) -> Builder {
            let property = value.map { Entry(value: $0, time: String(time.now.timeIntervalSince1970)) }
            changes.updateValue(property, forKey: name)
            return self
        }
    }
}
