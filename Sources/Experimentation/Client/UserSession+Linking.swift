import Synchronization

/// Turning an anonymous user into a known one.
extension UserSession {
    /// Makes this session's user a known one, and asks the vendor to link the two.
    ///
    /// If the vendor needs several steps, progress is stored after each, so that the next call with the same arguments
    /// resumes an interrupted link, even in a later run. A concurrent call with the same arguments shares the steps. A
    /// call with another identity or other criteria starts over and abandons the interrupted one. If the vendor needs
    /// no steps, this is ``identify(_:)``, and the criteria are ignored. If ``identify(_:)`` has named another user by
    /// the end, the session stays that user's.
    ///
    /// - Parameters:
    ///   - identity: The user's new identity.
    ///   - criteria: The facts by which the vendor finds the user, where that isn't the id.
    /// - Returns: The ids that the vendor uses from now on.
    /// - Throws: Why a step failed; calling again resumes there. ``ErrorCode/consentDenied`` before a step that would
    ///   tell the vendor of a user who has denied consent in any session, even if this session has another user by
    ///   then.
    @discardableResult
    public func link(
        to identity: Identity,
        criteria: [String: String] = [:]
    ) async throws(ExperimentationError) -> Identity {
        let identity = identity.identified
        guard let linker = core.roles.identity else {
            identify(identity)
            return identity
        }
        let (user, naming) = userAndNamings
        if user.consent == .denied { throw .consentDenied }
        let asked = StoredLink(from: user.identity, to: identity, criteria: criteria)
        return try await core.denials.watching(user.id) { watch throws(ExperimentationError) in
            if core.outbox.isDenied(by: user.id) { throw .consentDenied }
            let link = try await core.links.run(asked) { () async throws(ExperimentationError) in
                try await takeSteps(asked, by: linker, watch) { endLinking(of: user.identity, as: $0, since: naming) }
            }
            // Another session may have taken the steps.
            endLinking(of: user.identity, as: link.progress.to, since: naming)
            return link.progress.to
        }
    }

    /// The user, and how often the application has named one: the starting point of an adapter's own linking.
    package var userAndNamings: (user: User, namings: UInt64) { state.withLock { ($0.user, $0.namings) } }

    /// Switches the session to the linked user, unless the application has named another one meanwhile.
    package func endLinking(of former: Identity, as linked: Identity, since naming: UInt64) {
        identify(linked) { $0.namings == naming || $0.isAbout(former.id) }
    }

    private func takeSteps(
        _ asked: StoredLink,
        by linker: any IdentityLinker,
        _ watch: UserRemovals.Watch,
        _ end: (Identity) -> Void
    ) async throws(ExperimentationError) -> StoredLink {
        let userID = asked.progress.from.id
        let key = KeptState.Key.link(of: userID)
        var link = asked
        // An interrupted link that can't be read must not be started over.
        let stored = try await core.kept.find(StoredLink.self, key)
        if let stored, stored.asksFor(asked.to, asked.criteria) { link = stored }
        try await keep(link, key, of: userID, watch)
        while !link.progress.isComplete {
            link.progress = try await linker.advance(link.progress)
            try await keep(link, key, of: userID, watch)
        }
        end(link.progress.to)
        await core.kept.write(bytes: nil, key)
        return link
    }

    /// Stores the progress of a linking, unless its user denies consent: a step tells the vendor of two ids and of the
    /// criteria.
    private func keep(
        _ link: StoredLink,
        _ key: KeptState.Key,
        of userID: String,
        _ watch: UserRemovals.Watch
    ) async throws(ExperimentationError) {
        var failure: ExperimentationError?
        if !isDenied(userID, watch) {
            do throws(ExperimentationError) { try await core.kept.require(link, key) } catch { failure = error }
        }
        if isDenied(userID, watch) {
            // A store that failed may have stored it nevertheless.
            await core.outbox.forget(userID)
            throw .consentDenied
        }
        if let failure { throw failure }
    }
}
