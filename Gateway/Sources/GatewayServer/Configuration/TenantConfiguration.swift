import Experimentation
import FlagManifest
import Foundation

/// A tenant: its vendor, its tokens, and how it is served.
public struct TenantConfiguration: Sendable {
    /// The exposures that single evaluations record.
    public enum Exposures: String, Sendable, Hashable, CaseIterable {
        /// None; applications send exposures themselves.
        case none
        /// The variation behind the flag, once per user.
        case single
    }

    /// What becomes of the assignments in answers to users.
    public enum Assignments: String, Sendable, Hashable, CaseIterable {
        /// The first is stored and kept if the vendor promises to keep assignments and the user's consent allows it.
        case kept
        /// Each answer is computed from the current rules.
        case computed
    }

    /// Where events wait and rules are kept.
    public enum Store: Sendable, Hashable {
        /// In memory; lost when the process ends.
        case memory
        /// In a SQLite file.
        case file(URL)
        /// In PostgreSQL, shared by all instances with the same database and schema.
        case postgres(SharedDatabase)
    }

    /// The tenant's name; it appears in logs and metrics, never in answers.
    public var name: String
    /// The tenant's bearer tokens, as digests.
    public var tokens: [TokenDigest]
    /// The vendor and its settings, in the format of `VendorCatalog`.
    public var vendor: FlagValue
    /// The file with those settings, for messages.
    public var vendorFile: String
    /// The move that the tenant is in, in place of a vendor; `nil` for none.
    public var move: TenantMove?
    /// The store.
    public var store: Store
    /// The exposures that single evaluations record; `single` by default.
    public var exposures: Exposures = .single
    /// Whether assignments are stored; `kept` by default.
    public var assignments: Assignments = .kept
    /// The consent assumed for users whose context states none; `unknown` by default.
    public var consent: Consent = .unknown
    /// The types of flags whose values don't determine them.
    public var types: [String: FlagType] = [:]
    /// How long decisions of a vendor that is asked for each user are reused; in a move, vendors are asked each time.
    public var reuse = AnswerReuse()
    /// How many bytes of memory these decisions may take, roughly.
    public var decisionBytes = 64_000_000
    /// The rate limit; `nil` for none.
    public var rateLimit: RateLimit?
    /// The maximum number of open event streams.
    public var streams = 10_000

    /// Creates a tenant with defaults.
    ///
    /// - Parameters:
    ///   - name: The tenant's name.
    ///   - tokens: Its bearer tokens, as digests.
    ///   - vendor: The vendor and its settings.
    ///   - vendorFile: The file with those settings.
    ///   - store: The store.
    public init(name: String, tokens: [TokenDigest], vendor: FlagValue, vendorFile: String, store: Store) {
        self.name = name
        self.tokens = tokens
        self.vendor = vendor
        self.vendorFile = vendorFile
        self.store = store
    }
}
