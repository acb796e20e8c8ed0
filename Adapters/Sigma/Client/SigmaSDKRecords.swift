import AdapterKit
import Experimentation
import Foundation

/// The records that the vendor's own SDK left on this device, so that an upgrade loses neither the generated id nor the
/// user nor the forced list.
///
/// ```swift
/// var options = SigmaClientOptions(store: store)
/// if let defaults = UserDefaults(suiteName: SigmaSDKRecords.suiteName(token: token)) {
///     options.importing = SigmaSDKRecords(in: defaults)
/// }
/// ```
///
/// The names of the entries are from the vendor's framework; the name of the suite and the encoding of the values are
/// inferred. Unreadable entries count as missing, and nothing is ever written back. The configuration isn't
/// imported: it is fetched again within seconds anyway.
public struct SigmaSDKRecords: Sendable, Hashable {
    /// The tag of a client created without one.
    public static let defaultTag = "default"

    /// The generated id.
    public var privateID: String?
    /// The user.
    public var user: SigmaUser?
    /// The local forced list: experiment names with the index of a group, if one was named.
    public var forced: [String: Int?]

    /// Creates records.
    public init(privateID: String? = nil, user: SigmaUser? = nil, forced: [String: Int?] = [:]) {
        self.privateID = privateID
        self.user = user
        self.forced = forced
    }

    /// Returns the suite of defaults in which the vendor's SDK keeps a client's records.
    public static func suiteName(tag: String = defaultTag, token: String) -> String {
        "storage\(tag)\(token)"
    }

    /// Reads the records in a suite.
    public init(in defaults: UserDefaults) {
        privateID = defaults.string(forKey: "sigmaPrivateId.value").flatMap { $0.isEmpty ? nil : $0 }
        if privateID == nil { privateID = Self.decode(String.self, "sigmaPrivateId.value", in: defaults) }
        user = Self.decode(SigmaUser.self, "user.value", in: defaults)
        if let stored = Self.decode([String: Int?].self, "sigmaForcedExperiments.value", in: defaults) {
            forced = stored
        } else {
            forced = (defaults.dictionary(forKey: "sigmaForcedExperiments.value") ?? [:]).mapValues { $0 as? Int }
        }
    }

    /// Values are stored as JSON, in bytes or as a string.
    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        _ key: String,
        in defaults: UserDefaults
    ) -> Value? {
        guard let bytes = defaults.data(forKey: key) ?? defaults.string(forKey: key).map({ Data($0.utf8) }) else {
            return nil
        }
        return try? JSON.decode(type, from: bytes)
    }
}
