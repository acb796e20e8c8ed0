import Experimentation
import FlagManifest
import HTTPTypes

/// The flags with their types, in the format that OpenFeature's command line downloads.
enum Manifest {
    private static let capabilities = HTTPField.Name.literal("X-Manifest-Capabilities")

    /// The answer to `GET /openfeature/v0/manifest`, sorted by key.
    ///
    /// Vendors publish no defaults for applications, so the manifest contains the simplest value of each type.
    ///
    /// - Parameter types: The types by key.
    /// - Returns: The answer.
    static func answer(_ types: [String: FlagType]) -> Answer {
        let flags = types.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { key, type in
            FlagValue.object(["key": .string(key), "type": .string(type.rawValue), "defaultValue": type.plainest])
        }
        return .json(.ok, ["flags": .array(flags)], [capabilities: "read", .cacheControl: "private, no-cache"])
    }
}

extension FlagType {
    /// The simplest value of the type, as the default.
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
