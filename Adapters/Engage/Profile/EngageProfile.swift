import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// The state of this installation: its ids, its campaigns, its session and a merge in progress.
///
/// Reading is synchronous. A change is in the store when the method that makes it returns; without a store it lives as
/// long as the process. The access token is never stored.
public final class EngageProfile: Sendable {
    private struct State: Sendable {
        var record = EngageRecord()
        var revision: UInt64 = 0
        /// The revision in the store.
        var written: UInt64 = 0
        var isLoaded = false
    }

    /// The watches over users of what is under way.
    let watches = UserWatches()
    private let state: Mutex<State>
    private let store: (any StateStore)?
    private let key: String
    private let environment: ClientEnvironment
    /// One write at a time.
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates a profile that is kept under a key of a store; without a store, for this process only.
    init(store: (any StateStore)?, key: String, environment: ClientEnvironment = ClientEnvironment()) {
        state = Mutex(State())
        self.store = store
        self.key = key
        self.environment = environment
    }

    /// Reads an earlier run's state, once.
    ///
    /// Unreadable values count as missing, and are logged: no later attempt would read them.
    ///
    /// - Throws: `ErrorCode.store` if the store can't be read; nothing counts as missing then.
    func load() async throws(ExperimentationError) {
        guard !state.withLock(\.isLoaded) else { return }
        let bytes = try await store?.value(for: key)
        let record = bytes.flatMap { try? EngageRecord(stored: $0) }
        let isFirst = state.withLock { state in
            guard !state.isLoaded else { return false }
            state.isLoaded = true
            if let record { state.record = record }
            return true
        }
        if isFirst, bytes != nil, record == nil {
            let message = "the stored ids, merge and refresh token can't be read"
            environment.log.log(.error, "engage.profile.unreadable", message)
        }
    }

    var record: EngageRecord { state.withLock(\.record) }

    /// Changes the state; the change is in the store when this returns.
    @discardableResult
    func update<Result: Sendable>(
        _ change: @Sendable (inout EngageRecord) -> Result
    ) async throws(ExperimentationError) -> Result {
        // Changing what hasn't been loaded yet would erase the rest.
        try await load()
        let (result, revision) = state.withLock { state -> (Result, UInt64) in
            let old = state.record
            let result = change(&state.record)
            // Two Unicode forms of an id are equal texts, but different users.
            if state.record != old || !state.record.isOwn(old.mobileUserID) { state.revision += 1 }
            return (result, state.revision)
        }
        try await write(revision)
        return result
    }

    /// Changes the state, unless a watched user was removed meanwhile: nothing of theirs may come back.
    ///
    /// - Returns: Whether it was changed.
    @discardableResult
    func update(
        unlessRemoved watch: UserWatch,
        _ change: @Sendable (inout EngageRecord) -> Void
    ) async throws(ExperimentationError) -> Bool {
        try await update { record in
            if watch.isOneRemoved { return false }
            change(&record)
            return true
        }
    }

    /// Writes the newest record, unless the store has this revision by then.
    ///
    /// A cancelled caller doesn't end it. If it fails, the store gets this change with the next one.
    private func write(_ revision: UInt64) async throws(ExperimentationError) {
        guard let store, state.withLock({ $0.written < revision }) else { return }
        try await turn.run { [self] () async throws(ExperimentationError) in
            let (record, newest, written) = state.withLock { ($0.record, $0.revision, $0.written) }
            guard written < revision else { return }
            try await store.setValue(try JSON.encode(record), for: key)
            state.withLock { $0.written = newest }
        }
    }

    // MARK: Public state

    /// The mobile user id; empty if there is none.
    public var mobileUserID: String { record.mobileUserID }
    /// The recipient's id; empty if there is none.
    public var recipientID: String { record.recipientID }
    /// The id of the recipient that the deprecated calls created; empty if there is none.
    public var anonymousID: String { record.anonymousID }
    /// The device's stored id, which counts if ``EngageDevice/id`` is `nil`; empty until the first behavior without one.
    public var deviceID: String { record.deviceID }

    /// Whether this installation's user has denied consent and not given it since.
    ///
    /// Until then nothing is prepared for them or sent about them.
    public var isConsentDenied: Bool { record.isDenied(record.mobileUserID) }

    /// Stores a mobile user id chosen by the application.
    ///
    /// Another id than the one so far is another user's. The former user's recipient, anonymous id and campaigns aren't
    /// theirs, so store an id of the recipient that you know after this one, not before.
    public func storeMobileUserID(_ id: String) async throws(ExperimentationError) {
        try await update { [watches] record in
            if !record.mobileUserID.isEmpty, !record.isOwn(id) { watches.note(.followed, of: [UserWatches.ownUser]) }
            record.become(id)
        }
    }

    /// Stores the recipient's id.
    public func storeRecipientID(_ id: String) async throws(ExperimentationError) {
        try await update { $0.recipientID = id }
    }

    /// Stores the id of the anonymous recipient.
    public func storeAnonymousID(_ id: String) async throws(ExperimentationError) {
        try await update { $0.anonymousID = id }
    }

    /// Records that this installation's user consents again, after a denial.
    ///
    /// Without a mobile user id, it is the one who denied last: their former ids are removed, so they get a new one, and
    /// with it a new session. Has no effect unless ``isConsentDenied``.
    public func grantConsent() async throws(ExperimentationError) {
        try await update { $0.consent() }
    }

    /// Records that a user consents again, as their events or their session tell.
    func noteConsent(of userID: String) async throws(ExperimentationError) {
        guard record.isDenied(userID) else { return }
        try await update { $0.consent(of: userID) }
    }

    /// Removes a user who denies consent: their ids, campaigns, session and merge.
    func forget(_ userID: String) async throws(ExperimentationError) {
        guard !userID.isEmpty else { return }
        let salt = environment.makeID()
        try await update { [watches] record in
            let user = ExactText(userID)
            watches.note(.removed, of: record.isOwn(userID) ? [user, UserWatches.ownUser] : [user])
            record.deny(userID, salt: salt)
        }
    }

    /// Removes everything that belongs to users: ids, campaigns, session, a merge in progress and rows that are owed.
    ///
    /// What belongs to the installation stays: that it was reported, that an earlier version's records were imported,
    /// that consent was denied, and a refresh token that replaced the configured one, which the vendor may not accept
    /// any more.
    public func clear() async throws(ExperimentationError) {
        let now = environment.time.now
        try await update { [watches] record in
            watches.note(.removed, of: nil)
            record.clear(at: now)
        }
    }

    /// Returns the recipient of a user of this vendor; empty if it isn't known.
    func recipientID(of mobileUserID: String) -> String { record.recipient(of: mobileUserID) }
}
