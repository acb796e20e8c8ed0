import Experimentation
import FlagManifest
import Synchronization

/// The types of a tenant's flags: declared in its configuration, or else observed.
struct DeclaredTypes: Sendable {
    private let declared: [String: FlagType]
    private let seen: SeenTypes

    /// Creates types.
    ///
    /// - Parameters:
    ///   - declared: The configured types, which take precedence.
    ///   - seen: The observed types, shared by all tenants of the same connection.
    init(_ declared: [String: FlagType] = [:], seen: SeenTypes = SeenTypes()) {
        self.declared = declared
        self.seen = seen
    }

    /// The type of a flag with these possible values; `nil` if neither these nor earlier values determine it.
    func type(of key: String, values: some Sequence<FlagValue>) -> FlagType? {
        declared[key] ?? seen.note(FlagType(of: values), of: key)
    }

    /// All known types.
    var known: [String: FlagType] { seen.types.merging(declared) { $1 } }

    /// The keys of all flags that were seen or declared, including those without a known type.
    var keys: Set<String> { seen.keys.union(declared.keys) }

    /// Whether a flag may exist; `true` for every key while no flag has been seen.
    func mayExist(_ key: String) -> Bool {
        let seen = seen.keys
        return seen.isEmpty || seen.contains(key) || declared[key] != nil
    }

    /// Records the keys of all flags.
    func publish(_ keys: [String]) { seen.publish(keys) }
}

/// The observed types of a vendor's flags.
///
/// A vendor that is asked for each user reveals one value at a time, so a float may first appear as `10`; once a
/// fraction has been observed, the flag remains a float.
final class SeenTypes: Sendable {
    private struct State {
        var types: [String: FlagType] = [:]
        var keys: Set<String> = []
    }

    private let state = Mutex(State())
    /// The maximum number of keys remembered.
    private static let most = 10_000

    /// The types by key.
    var types: [String: FlagType] { state.withLock { $0.types } }

    /// The keys in the rules, or in the answers of a vendor that is asked for each user, including flags without a
    /// known type.
    var keys: Set<String> { state.withLock { $0.keys } }

    /// Records the keys of rules, which contain all flags.
    func publish(_ keys: [String]) { state.withLock { $0.keys = Set(keys) } }

    /// Records the keys of an answer.
    func note(_ keys: [String]) {
        state.withLock { state in
            for key in keys where state.keys.count < Self.most { state.keys.insert(key) }
        }
    }

    /// Records the type of a value, and returns the flag's type.
    func note(_ type: FlagType?, of key: String) -> FlagType? {
        state.withLock { state in
            let known = state.types[key]
            guard let type, type != known else { return known }
            // Only float is permanent; a flag that became a string is a string from now on.
            if known == .float, type == .integer { return .float }
            if known != nil || state.types.count < Self.most { state.types[key] = type }
            return type
        }
    }
}
