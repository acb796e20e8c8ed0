import AdapterKit
import Experimentation

/// The state of this installation: its ids, its campaigns, its session and a merge in progress.
///
/// Reading is synchronous. A change is in the store when the method that makes it returns; without a store it lives as
/// long as the process. The access token is never stored.
public final class EngageProfile: Sendable {
    /// The watches over the users of operations in progress.
    let watches = UserWatches<UserEvent>()
    private let stored: StoredRecord<EngageRecord>
    private let environment: ClientEnvironment

    /// Creates a profile that is kept under a key of a store; without a store, for this process only.
    init(store: (any StateStore)?, key: String, environment: ClientEnvironment = ClientEnvironment()) {
        stored = StoredRecord(
            EngageRecord(),
            in: store,
            as: key,
            // Two Unicode forms of an id are equal texts, but different users.
            isSame: { $0 == $1 && $0.isOwn($1.mobileUserID) },
            whenUnreadable: {
                let message = "the stored ids, merge and refresh token can't be read"
                environment.log.log(.error, "engage.profile.unreadable", message)
            }
        )
        self.environment = environment
    }

    /// Reads an earlier run's state, once.
    ///
    /// Unreadable values count as missing and are logged, because no later attempt could read them.
    ///
    /// - Throws: `ErrorCode.store` if the store can't be read; nothing counts as missing then.
    func load() async throws(ExperimentationError) { try await stored.load() }

    var record: EngageRecord { stored.value }

    /// Changes the state; the change is in the store when this returns.
    @discardableResult
    func update<Result: Sendable>(
        _ change: @Sendable (inout EngageRecord) -> Result
    ) async throws(ExperimentationError) -> Result {
        try await stored.update(change)
    }

    /// Changes the state, unless a watched user was removed meanwhile: none of their data may come back.
    ///
    /// - Returns: Whether it was changed.
    @discardableResult
    func update(
        unlessRemoved watch: UserWatch,
        _ change: @Sendable (inout EngageRecord) -> Void
    ) async throws(ExperimentationError) -> Bool {
        try await update { record in
            if watch.has(.removed) { return false }
            change(&record)
            return true
        }
    }

    // MARK: Public state

    /// The mobile user id; empty if there is none.
    public var mobileUserID: String { record.mobileUserID }
    /// The recipient's id; empty if there is none.
    public var recipientID: String { record.recipientID }
    /// The id of the recipient that the deprecated calls created; empty if there is none.
    public var anonymousID: String { record.anonymousID }
    /// The device's stored id, used if ``EngageDevice/id`` is `nil`; empty until the first behavior without one.
    public var deviceID: String { record.deviceID }

    /// Whether this installation's user has denied consent and hasn't given it since.
    ///
    /// While that is so, nothing is prepared for them or sent about them.
    public var isConsentDenied: Bool { record.isDenied(record.mobileUserID) }

    /// Stores a mobile user id chosen by the application.
    ///
    /// An id that differs from the previous one belongs to another user. The former user's recipient, anonymous id and
    /// campaigns don't belong to that user, so if you know the recipient's id, store it after this id, not before.
    public func storeMobileUserID(_ id: String) async throws(ExperimentationError) {
        try await update { [watches] record in
            if !record.mobileUserID.isEmpty, !record.isOwn(id) { watches.note(.followed, of: [.ownUser]) }
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
    /// Without a mobile user id, the user is the one who denied last: their former ids are removed, so they get a new
    /// one, and with it a new session. Has no effect unless ``isConsentDenied``.
    public func grantConsent() async throws(ExperimentationError) {
        try await update { $0.consent() }
    }

    /// Records that a user consents again, as their events or their session show.
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
            watches.note(.removed, of: record.isOwn(userID) ? [user, .ownUser] : [user])
            record.deny(userID, salt: salt)
        }
    }

    /// Removes everything that belongs to users: ids, campaigns, session, a merge in progress and owed rows.
    ///
    /// What belongs to the installation stays: that it was reported, that an earlier version's records were imported,
    /// that consent was denied, and a refresh token that replaced the configured one, which the vendor may no longer
    /// accept.
    public func clear() async throws(ExperimentationError) {
        let now = environment.time.now
        try await update { [watches] record in
            watches.note(.removed, of: nil)
            record.clear(at: now)
        }
    }
}
