import Experimentation
import Foundation

/// A user's properties as set by the application, each with the date at which it was set.
///
/// ```swift
/// let user = SigmaUser.Builder().setUserId("123").setCustomProperty(true, key: "isAuthorized").build()
/// ```
public struct SigmaUser: Codable, Sendable, Hashable {
    /// The values by the vendor's names.
    private(set) var properties: [String: String] = [:]
    /// When each was set, in seconds since 1970.
    private var sigmaExpiration: [String: String] = [:]

    init() {}

    /// When each property was set.
    var dates: [String: Date] {
        sigmaExpiration.compactMapValues { text in
            guard let seconds = Double(text), seconds.isFinite else { return nil }
            return Date(timeIntervalSince1970: seconds)
        }
    }

    /// Returns the user with a date for each property that has no readable one, so that it ages too.
    func dated(_ date: Date) -> SigmaUser {
        var user = self
        let known = dates
        for name in properties.keys where known[name] == nil {
            user.sigmaExpiration[name] = String(date.timeIntervalSince1970)
        }
        return user
    }

    /// Applies changes in order.
    mutating func apply(_ changes: [Builder.Change]) {
        for change in changes {
            properties[change.name] = change.value
            sigmaExpiration[change.name] = change.value.map { _ in String(change.date.timeIntervalSince1970) }
        }
    }

    /// Sets a user's properties one at a time.
    ///
    /// Each method returns the builder. `nil` removes a property, so that the device's own value shows again.
    public final class Builder {
        /// A property that was set or removed.
        struct Change: Sendable, Hashable {
            let name: String
            let value: String?
            let date: Date
        }

        private(set) var changes: [Change] = []
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
        public func build() -> SigmaUser {
            var user = SigmaUser()
            user.apply(changes)
            return user
        }

        private func set(_ name: String, _ value: String?) -> Builder {
            changes.append(Change(name: name, value: value, date: time.now))
            return self
        }
    }
}
