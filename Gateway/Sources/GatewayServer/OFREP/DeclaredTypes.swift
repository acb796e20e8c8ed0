import Experimentation
import FlagManifest
import Synchronization

/// The types of a tenant's flags: those that its configuration declares, then those that were seen.
struct DeclaredTypes: Sendable {
    private let declared: [String: FlagType]
    private let seen: SeenTypes

    /// Creates types.
    ///
    /// - Parameters:
    ///   - declared: What the configuration says; it wins.
    ///   - seen: What was seen, by this and others over the same vendor.
    init(_ declared: [String: FlagType] = [:], seen: SeenTypes = SeenTypes()) {
        self.declared = declared
        self.seen = seen
    }

    /// The type of a flag that may have these values; `nil` if neither they nor earlier ones say.
    func type(of key: String, values: some Sequence<FlagValue>) -> FlagType? {
        declared[key] ?? seen.note(FlagType(of: values), of: key)
    }

    /// All types that are known.
    var known: [String: FlagType] { seen.types.merging(declared) { $1 } }
}

/// The types that values of a vendor's flags have had.
///
/// A vendor that is asked for each user shows one value at a time, so that a float may come as `10`; once a fraction has
/// been seen the flag is a float for good.
final class SeenTypes: Sendable {
    private let state = Mutex<[String: FlagType]>([:])
    /// More keys than this aren't remembered.
    private static let most = 10_000

    /// The types by key.
    var types: [String: FlagType] { state.withLock { $0 } }

    /// Notes the type of a value, and gives the flag's.
    func note(_ type: FlagType?, of key: String) -> FlagType? {
        state.withLock { seen in
            let known = seen[key]
            guard let type, type != known else { return known }
            // Only this step is one-way; a flag that became a text is a text from now on.
            if known == .float, type == .integer { return .float }
            if known != nil || seen.count < Self.most { seen[key] = type }
            return type
        }
    }
}
