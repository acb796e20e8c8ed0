/// A property that conditions test, by the vendor's name, and where its text comes from.
struct Property: Sendable, Hashable {
    /// Where the text of a property comes from when the user has no attribute of its name.
    enum Source: Sendable, Hashable {
        case none
        case userID
        case profileID
        case device(Device)
        case time
        case date
        case place
    }

    /// A property of the device.
    enum Device: Sendable, Hashable {
        case id
        case appVersion
        case osName
        case osVersion
    }

    /// The vendor's name.
    let name: String
    /// Where it comes from when no attribute sets it.
    let source: Source
    /// The name that the application made up, which sets it before any other; `nil` where none can.
    let shortAttribute: String?
    /// The vendor's name as an attribute's; `nil` where none can set it.
    let attribute: String?

    init(_ name: String) {
        self.name = name
        if let source = Self.reserved[name] {
            self.source = source
            attribute = name
            shortAttribute = nil
        } else if name.hasPrefix(Self.customPrefix) {
            source = .none
            attribute = name
            let short = String(name.dropFirst(Self.customPrefix.count))
            shortAttribute = Self.reserved[short] == nil && !short.hasPrefix(Self.customPrefix) ? short : nil
        } else {
            // The service may answer more of a place than the names that are known.
            source = name.hasPrefix(Self.placePrefix) ? .place : .none
            attribute = nil
            shortAttribute = nil
        }
    }

    /// Whether texts are compared as versions.
    var isVersion: Bool { source == .device(.appVersion) || source == .device(.osVersion) }

    /// What the vendor puts before the names that applications make up.
    static let customPrefix = "custom."

    /// What the vendor puts before the parts of a place.
    static let placePrefix = "geo."

    /// The names that have a meaning of their own; attributes with other names are custom properties.
    static let reserved: [String: Source] = [
        "userId": .userID, "profileId": .profileID, "deviceId": .device(.id), "email": .none,
        "appVersion": .device(.appVersion), "os.name": .device(.osName), "os.version": .device(.osVersion),
        "geo.code": .place, "geo.country": .place, "geo.state": .place, "geo.city": .place, "geo.ip": .place,
        "time": .time, "date": .date,
    ]

    /// The three ids that experiments split by.
    static let userID = Property("userId")
    static let profileID = Property("profileId")
    static let deviceID = Property("deviceId")
}
