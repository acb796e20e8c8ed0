/// A property that conditions test, with the vendor's name and the source of its text.
struct Property: Sendable, Hashable {
    /// The source of a property's text if the user has no attribute of its name.
    enum Source: Sendable, Hashable {
        case none
        case userID
        case profileID
        case deviceID
        case appVersion
        case osName
        case osVersion
        case time
        case date
        case place
    }

    let name: String
    let source: Source
    /// The names of attributes that set it, the first with precedence: an application's own, and the vendor's.
    let attributes: [String]

    init(_ name: String) {
        self.name = name
        if let source = Self.reserved[name] {
            (self.source, attributes) = (source, [name])
        } else if let short = Self.shortName(name) {
            let isPlain = Self.reserved[short] == nil && Self.shortName(short) == nil
            (source, attributes) = (.none, isPlain ? [short, name] : [name])
        } else {
            // The service may return more of a location than the known names.
            (source, attributes) = (name.hasPrefix(Self.placePrefix) ? .place : .none, [])
        }
    }

    /// Returns an application's own name without the prefix; `nil` for any other name.
    ///
    /// Compares bytes, because a name that begins with a combining mark shares a character with the prefix's end.
    private static func shortName(_ name: String) -> String? {
        guard name.utf8.starts(with: customPrefix.utf8) else { return nil }
        return String(Substring(name.utf8.dropFirst(customPrefix.utf8.count)))
    }

    /// Whether experiments may split by it; an empty text then counts as none.
    var isID: Bool { source == .userID || source == .profileID || source == .deviceID }

    /// Whether to compare texts as versions.
    var isVersion: Bool { source == .appVersion || source == .osVersion }

    static let customPrefix = "custom."

    static let placePrefix = "geo."

    /// The names with a meaning of their own; attributes with other names are custom properties.
    static let reserved: [String: Source] = [
        "userId": .userID, "profileId": .profileID, "deviceId": .deviceID, "email": .none,
        "appVersion": .appVersion, "os.name": .osName, "os.version": .osVersion,
        "geo.code": .place, "geo.country": .place, "geo.state": .place, "geo.city": .place, "geo.ip": .place,
        "time": .time, "date": .date,
    ]

    /// The three ids by which experiments split.
    static let userID = Property("userId")
    static let profileID = Property("profileId")
    static let deviceID = Property("deviceId")
}
