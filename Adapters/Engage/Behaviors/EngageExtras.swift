import AdapterKit
import Experimentation

/// Features that only this vendor has, in addition to ``Engage/xmlapi`` and ``Engage/mobileIdentity``.
extension Engage {
    /// The vendor's older identity calls.
    public var anonymousUser: AnonymousUser { AnonymousUser(client: xmlapi, profile: profile) }

    /// Returns a tracker of the installation, sessions, notifications and links of a user's session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - client: The client, if ``BehaviorTracker/setApplicationState(_:)`` should notify it as well, so that waiting
    ///     events are posted when the application goes to the background.
    /// - Returns: The tracker.
    public func tracker(for session: UserSession, of client: ExperimentationClient? = nil) -> BehaviorTracker {
        BehaviorTracker(engage: self, session: session, client: client)
    }

    /// Verifies that the service is reachable and accepts the credentials: requests an access token if there is no
    /// valid one.
    ///
    /// No recipient's data is read or written.
    ///
    /// - Throws: `ErrorCode.unauthorized` if the credentials are refused, `ErrorCode.transport` or `ErrorCode.timeout`
    ///   if there is no answer.
    public func reach() async throws(ExperimentationError) {
        let connection = xmlapi.connection
        _ = try await connection.tokens.token(
            until: environment.time.instant.advanced(by: configuration.networking.timeout)
        )
    }

    /// The number of queued calls of the XML interface.
    public var waitingCalls: Int { xmlapi.connection.line.waiting }

    /// Writes the last known location of this installation's recipient to two columns of the list.
    ///
    /// The columns are added before the first write.
    ///
    /// - Parameter placemark: The place; `nil`, or one without names, is written as `UNKNOWN`.
    /// - Throws: `ErrorCode.invalidArgument` without a recipient; `ErrorCode.consentDenied` if the user denied consent;
    ///   what the XML interface throws.
    public func updateLastKnownLocation(_ placemark: LocationFeed.Placemark?) async throws(ExperimentationError) {
        guard configuration.location.isEnabled else { return }
        try await profile.load()
        let watch = profile.watches.watch([.ownUser, ExactText(profile.mobileUserID)])
        if profile.isConsentDenied { throw EngageErrors.denied }
        let recipient = profile.recipientID
        guard !recipient.isEmpty else {
            throw ExperimentationError(.invalidArgument, "there is no recipient; set one up first")
        }
        let settings = configuration.location
        let list = configuration.listID
        let xmlapi = xmlapi.only { !watch.has(.removed) }
        if !profile.record.hasLocationColumns {
            // A fault says that the column exists already, which is fine.
            try await xmlapi.send(.addColumn(settings.addressColumn, list: list, type: .text))
            try await xmlapi.send(.addColumn(settings.timestampColumn, list: list, type: .date))
        }
        try await xmlapi.perform(
            .updateLastKnownLocation(
                recipientID: recipient,
                list: list,
                address: placemark?.address ?? "UNKNOWN",
                date: EngageTimestamp.text(environment.time.now, pattern: settings.dateFormat),
                columns: (settings.addressColumn, settings.timestampColumn)
            )
        )
        // Only now is it known that the columns exist: a fault while adding them may have had another cause.
        guard !profile.record.hasLocationColumns else { return }
        try await profile.update { $0.hasLocationColumns = true }
    }
}
