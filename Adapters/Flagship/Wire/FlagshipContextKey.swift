import Experimentation
import Foundation

/// The context keys that Flagship itself defines.
///
/// The adapter fills in those with ``isAutomatic``, on Linux too; an attribute of the same name takes precedence. The
/// neutral client doesn't fill in ``firstTimeInit``: it may serve many devices, and only the application knows their
/// first runs.
public enum FlagshipContextKey: String, Sendable, Hashable, CaseIterable {
    /// Whether this is the first run of the application on this device.
    case firstTimeInit = "sdk_firstTimeInit"
    /// The device's language by its code: `fr`.
    case locale = "sdk_deviceLanguage"
    /// The kind of device: `Mobile`, `Tablet`, `TV`, `Desktop` or `Watch`.
    case deviceType = "sdk_deviceType"
    /// The device's model.
    case deviceModel = "sdk_deviceModel"
    /// The city.
    case locationCity = "sdk_city"
    /// The region.
    case locationRegion = "sdk_region"
    /// The country.
    case locationCountry = "sdk_country"
    /// The latitude in degrees.
    case locationLatitude = "sdk_lat"
    /// The longitude in degrees.
    case locationLongitude = "sdk_long"
    /// The device's IP address, version 4 or 6.
    case ip = "sdk_ip"
    /// The operating system's actual name, on Linux too.
    case osName = "sdk_osName"
    /// The operating system's name again: the vendor has two keys for it.
    case osVersionName = "sdk_osVersionName"
    /// The version of the operating system.
    case osVersionCode = "sdk_osVersionCode"
    /// The mobile network operator.
    case carrierName = "sdk_carrierName"
    /// Whether the application runs in development mode.
    case devMode = "sdk_devMode"
    /// The device's connection: `3g`, `wifi`.
    case internetConnection = "sdk_internetConnection"
    /// The application's displayed version.
    case appVersionName = "sdk_versionName"
    /// The application's version as a number.
    case appVersionCode = "sdk_versionCode"
    /// The version of the vendor's SDK that this adapter replaces.
    case flagshipVersion = "sdk_fsVersion"
    /// The interface in the foreground.
    case interfaceName = "sdk_interfaceName"

    /// The key of a rule for all users.
    static let allUsers = "fs_all_users"
    /// The key of a rule for single visitors, by id.
    static let users = "fs_users"
    /// The key under which the platform's name is sent in addition to ``osName``.
    static let client = "fs_client"
    /// The key under which the SDK's version is sent in addition to ``flagshipVersion``.
    static let version = "fs_version"

    /// Whether the adapter fills in this key; it fills in ``firstTimeInit`` only with Flagship's own API.
    public var isAutomatic: Bool {
        switch self {
        case .firstTimeInit, .locale, .deviceType, .deviceModel, .osName, .osVersionName, .osVersionCode,
            .flagshipVersion:
            true
        default: false
        }
    }

    /// Returns a readable description of the problem with a value for this key; `nil` if it may be set.
    public func objection(to value: FlagValue) -> String? {
        switch self {
        case .firstTimeInit, .devMode:
            value.boolValue == nil ? "\(rawValue) must be true or false" : nil
        case .locationLatitude:
            Self.isNumber(value, within: 90) ? nil : "\(rawValue) must be a number from -90 to 90"
        case .locationLongitude:
            Self.isNumber(value, within: 180) ? nil : "\(rawValue) must be a number from -180 to 180"
        case .appVersionCode:
            Self.isNumber(value, within: .greatestFiniteMagnitude) ? nil : "\(rawValue) must be a number"
        case .ip:
            value.stringValue.map(Self.isAddress) == true ? nil : "\(rawValue) must be an IPv4 or IPv6 address"
        default: value.stringValue == nil ? "\(rawValue) must be a text" : nil
        }
    }

    private static func isNumber(_ value: FlagValue, within limit: Double) -> Bool {
        guard let number = value.doubleValue else { return false }
        return number.isFinite && abs(number) <= limit
    }

    private static func isAddress(_ text: String) -> Bool {
        var address = in6_addr()
        return !text.utf8.contains(0)
            && [AF_INET, AF_INET6].contains { inet_pton($0, text, &address) == 1 }
    }
}
