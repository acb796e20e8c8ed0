/// The status of Flagship as a whole.
public enum FlagshipStatus: String, Sendable, Hashable, Codable, CaseIterable {
    /// It hasn't been started, or couldn't be.
    case notInitialized = "SDK_NOT_INITIALIZED"
    /// It is waiting for its first file of campaigns; only in bucketing mode.
    case initializing = "SDK_INITIALIZING"
    /// It is ready.
    case initialized = "SDK_INITIALIZED"
    /// The vendor's kill switch is on: only fetching works, and a fetch notices when the switch is off again.
    case panic = "SDK_PANIC"
}

extension FlagshipStatus {
    /// Returns the status that follows this one.
    ///
    /// It depends on whether the kill switch is on, and on whether there was something to decide by a moment ago; a
    /// fetch may have found it since.
    func following(isDisabled: Bool, canDecide: Bool) -> FlagshipStatus {
        if isDisabled { return .panic }
        // Rules end a panic. They may not be in use yet, and possibly no later event reports that they are.
        return canDecide || self == .initialized || self == .panic ? .initialized : .initializing
    }
}

/// The status of a visitor's flags.
public enum FlagshipFetchStatus: String, Sendable, Hashable, Codable, CaseIterable {
    /// They are up to date.
    case fetched = "FETCHED"
    /// They are being fetched.
    case fetching = "FETCHING"
    /// They need to be fetched; ``FlagshipFetchReason`` says why.
    case fetchRequired = "FETCH_REQUIRED"
    /// The vendor's kill switch is on.
    case panic = "PANIC"
}

/// Why flags need to be fetched.
public enum FlagshipFetchReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The visitor is new.
    case visitorCreate = "VISITOR_CREATE"
    /// The context has changed.
    case updateContext = "UPDATE_CONTEXT"
    /// The visitor has signed in.
    case authenticate = "AUTHENTICATE"
    /// The visitor has signed out.
    case unauthenticate = "UNAUTHENTICATE"
    /// The last fetch failed.
    case fetchError = "FETCH_ERROR"
    /// The visitor is known from an earlier run, and so are the flags, if there are any.
    case fetchedFromCache = "FETCHED_FROM_CACHE"
    /// They needn't be fetched.
    case none = "NONE"
}

/// The status of a flag at the moment it is read.
public enum FlagshipFlagStatus: String, Sendable, Hashable, Codable, CaseIterable {
    /// It is up to date.
    case fetched = "FETCHED"
    /// It is known, but needs to be fetched again.
    case fetchRequired = "FETCH_REQUIRED"
    /// The flag is unknown.
    case notFound = "NOT_FOUND"
    /// The vendor's kill switch is on, and reads return defaults.
    case panic = "PANIC"

    /// Determines a flag's status from the status of all the visitor's flags.
    init(fetchStatus: FlagshipFetchStatus, isKnown: Bool) {
        self =
            switch fetchStatus {
            case .panic: .panic
            case .fetched: isKnown ? .fetched : .notFound
            case .fetching, .fetchRequired: isKnown ? .fetchRequired : .notFound
            }
    }
}

/// Called with each change of a visitor's fetch status.
typealias FlagshipFetchListener = @Sendable (FlagshipFetchStatus, FlagshipFetchReason) -> Void

/// A visitor's fetch status and reason, as a pure state machine.
struct FlagshipFetchMachine: Sendable, Hashable {
    struct Announcement: Sendable, Hashable {
        var status: FlagshipFetchStatus
        var reason: FlagshipFetchReason
    }

    /// A fetch in progress.
    struct Fetch: Sendable, Hashable {
        /// Its place among the visitor's fetches.
        fileprivate var number: Int
        /// The changes that it takes into account.
        fileprivate var changes: Int
    }

    private(set) var current = Announcement(status: .fetchRequired, reason: .visitorCreate)
    /// Counts the changes that make flags out of date, so that a fetch that began before a change doesn't clear it.
    private var changes = 0
    private var fetches = 0

    mutating func begin() -> Fetch {
        fetches += 1
        // The original still reports the old reason here, unlike its own documentation.
        become(.fetching)
        return Fetch(number: fetches, changes: changes)
    }

    /// Sets a status that was determined elsewhere.
    mutating func become(_ status: FlagshipFetchStatus, _ reason: FlagshipFetchReason = .none) {
        current = Announcement(status: status, reason: reason)
    }

    /// Notes that the visitor or the context has changed.
    mutating func change(_ reason: FlagshipFetchReason) {
        changes += 1
        become(.fetchRequired, reason)
    }

    mutating func succeed(_ fetch: Fetch) {
        // Changes made during the request still need a fetch.
        if fetch.changes == changes || current.status == .panic { become(.fetched) }
    }

    mutating func fail(_ fetch: Fetch) {
        // The outcome of a later fetch counts.
        if fetch.number == fetches { become(.fetchRequired, .fetchError) }
    }
}
