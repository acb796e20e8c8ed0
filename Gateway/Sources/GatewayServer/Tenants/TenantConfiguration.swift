import Experimentation
import FlagManifest
import Foundation

/// One tenant: its vendor, its tokens, and how it is served.
public struct TenantConfiguration: Sendable {
    /// What single evaluations record.
    public enum Exposures: String, Sendable, Hashable, CaseIterable {
        /// Nothing; applications send exposures themselves.
        case none
        /// The variation that a flag reveals, once for each user.
        case single
    }

    /// What becomes of the assignments that users are answered with.
    public enum Assignments: String, Sendable, Hashable, CaseIterable {
        /// The first is written down and holds, where the vendor promises to keep assignments and the user may be known.
        case kept
        /// Each answer is computed from the rules of that moment.
        case computed
    }

    /// Where events wait and rules are kept.
    public enum Store: Sendable, Hashable {
        /// In memory; lost with the process.
        case memory
        /// In one SQLite file.
        case file(URL)
        /// In PostgreSQL, shared by all instances that name the same database and schema.
        case postgres(SharedDatabase)
    }

    /// The tenant's name; in logs and figures, never in an answer.
    public var name: String
    /// The tenant's bearer tokens, as digests.
    public var tokens: [TokenDigest]
    /// The vendor and its settings, as `VendorCatalog` reads them.
    public var vendor: FlagValue
    /// The file that these come from, for messages.
    public var vendorFile: String
    /// Where events wait.
    public var store: Store
    /// What single evaluations record; `single` unless set.
    public var exposures: Exposures = .single
    /// Whether assignments are written down; `kept` unless set.
    public var assignments: Assignments = .kept
    /// What counts as said by users whose context doesn't say; `unknown` unless set.
    public var consent: Consent = .unknown
    /// The types of flags, where they can't be told from their values.
    public var types: [String: FlagType] = [:]
    /// How many requests may be made; `nil` for any number.
    public var rateLimit: RateLimit?
    /// How many may listen for changes at once.
    public var streams = 10_000

    /// Creates a tenant with defaults.
    ///
    /// - Parameters:
    ///   - name: The tenant's name.
    ///   - tokens: Its bearer tokens, as digests.
    ///   - vendor: The vendor and its settings.
    ///   - vendorFile: The file that these come from.
    ///   - store: Where events wait.
    public init(name: String, tokens: [TokenDigest], vendor: FlagValue, vendorFile: String, store: Store) {
        self.name = name
        self.tokens = tokens
        self.vendor = vendor
        self.vendorFile = vendorFile
        self.store = store
    }
}
