import Experimentation
import FlagManifest
import HTTPTypes

/// The flags with their types, as OpenFeature's command line pulls them.
enum Manifest {
    private static let capabilities = HTTPField.Name("X-Manifest-Capabilities")!

    /// The answer of `GET /openfeature/v0/manifest`, sorted by key.
    ///
    /// A vendor publishes no default that a program should fall back on, so each type's plainest value stands there.
    ///
    /// - Parameter types: The types by key.
    static func answer(_ types: [String: FlagType]) -> Answer {
        let flags = types.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { key, type in
            FlagValue.object(["key": .string(key), "type": .string(type.rawValue), "defaultValue": type.plainest])
        }
        return .json(.ok, ["flags": .array(flags)], [capabilities: "read", .cacheControl: "private, no-cache"])
    }
}

extension FlagType {
    /// The value to fall back on where nobody has named one.
    fileprivate var plainest: FlagValue {
        switch self {
        case .boolean: false
        case .string: ""
        case .integer: 0
        case .float: .double(0)
        case .object: [:]
        }
    }
}
