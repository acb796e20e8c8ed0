import Experimentation

/// The context keys that Flagship itself defines.
///
/// Those with ``isAutomatic`` are filled in by the adapter, on Linux too; an attribute of the same name wins. Behind the
/// neutral client ``firstTimeInit`` isn't: that may serve many devices, and only the application knows their first runs.
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
    /// The operating system's name once more: the vendor has two keys for it.
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
    /// The interface in front.
    case interfaceName = "sdk_interfaceName"

    /// The key of a rule for all users.
    static let allUsers = "fs_all_users"
    /// The key of a rule for single visitors, by id.
    static let users = "fs_users"
    /// The key under which the platform's name is sent beside ``osName``.
    static let client = "fs_client"
    /// The key under which the SDK's version is sent beside ``flagshipVersion``.
    static let version = "fs_version"

    /// Whether the adapter fills it in; ``firstTimeInit`` only with Flagship's own API.
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
            value.stringValue.map(IPAddress.isValid) == true ? nil : "\(rawValue) must be an IPv4 or IPv6 address"
        default: value.stringValue == nil ? "\(rawValue) must be a text" : nil
        }
    }

    private static func isNumber(_ value: FlagValue, within limit: Double) -> Bool {
        guard let number = value.doubleValue else { return false }
        return number.isFinite && abs(number) <= limit
    }
}

/// IP addresses in their written form.
enum IPAddress {
    /// Whether a string is an address of version 4 or 6.
    static func isValid(_ text: String) -> Bool { isVersion4(text[...]) || isVersion6(text) }

    private static func isVersion4(_ text: Substring) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.utf8.count) && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
                    && Int(part).map { $0 <= 255 } == true && (part == "0" || !part.hasPrefix("0"))
            }
    }

    private static func isVersion6(_ text: String) -> Bool {
        let halves = text.components(separatedByDouble: ":")
        guard halves.count <= 2 else { return false }
        var count = 0
        for (index, half) in halves.enumerated() where !half.isEmpty {
            let groups = half.split(separator: ":", omittingEmptySubsequences: false)
            for (position, group) in groups.enumerated() {
                let isLast = index == halves.count - 1 && position == groups.count - 1
                if isLast, group.contains(".") {
                    guard isVersion4(group) else { return false }
                    count += 2
                } else {
                    guard (1...4).contains(group.utf8.count), group.utf8.allSatisfy(isHexadecimal) else { return false }
                    count += 1
                }
            }
        }
        return halves.count == 2 ? count <= 7 : count == 8
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
}

extension String {
    /// Splits a string at each doubled character.
    fileprivate func components(separatedByDouble character: Character) -> [Substring] {
        var parts: [Substring] = []
        var start = startIndex
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            if self[index] == character, next < endIndex, self[next] == character {
                parts.append(self[start..<index])
                start = self.index(after: next)
                index = start
            } else {
                index = next
            }
        }
        parts.append(self[start...])
        return parts
    }
}
