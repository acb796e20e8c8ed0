/// Turning an anonymous user into a known one.
extension UserSession {
    /// Makes this session's user a known one, and asks the vendor to link the two.
    ///
    /// If the vendor needs several steps, progress is stored after each, so that the next call with the same arguments
    /// resumes an interrupted link, even in a later run; such a call at the same time shares the steps. A call with another identity or other criteria starts over and
    /// abandons the interrupted one. If the vendor needs no steps, this is ``identify(_:)``, and the criteria are
    /// ignored. A session that has become another user's by the end stays that user's.
    ///
    /// - Parameters:
    ///   - identity: The user's new identity.
    ///   - criteria: What the vendor finds the user by, where that isn't the id.
    /// - Returns: The ids that the vendor uses from now on.
    /// - Throws: Why a step failed; calling again resumes there. ``ErrorCode/consentDenied``, before a step, if the user
    ///   has denied consent and the vendor would be told of them.
    @discardableResult
    public func link(
        to identity: Identity,
        criteria: [String: String] = [:]
    ) async throws(ExperimentationError) -> Identity {
        guard let linker = core.roles.identity else {
            identify(identity)
            return identity
        }
        try checkConsent()
        let from = user.identity
        let asked = StoredLink(from: from, to: identity, criteria: criteria)
        let link = try await core.links.run(asked) { () async throws(ExperimentationError) in
            try await takeSteps(asked, of: from, by: linker)
        }
        // Another session may have taken them.
        identify(link.progress.to, ifStill: from)
        return link.progress.to
    }

    private func takeSteps(
        _ asked: StoredLink,
        of from: Identity,
        by linker: any IdentityLinker
    ) async throws(ExperimentationError) -> StoredLink {
        try checkConsent()
        let key = KeptState.Key.link(of: from.id)
        var link = asked
        let stored = await core.kept.read(StoredLink.self, key)
        if let stored, stored.asksFor(asked.to, asked.criteria) { link = stored }
        try await keep(link, key, of: from.id)
        while !link.progress.isComplete {
            try checkConsent()
            link.progress = try await linker.advance(link.progress)
            try await keep(link, key, of: from.id)
        }
        identify(link.progress.to, ifStill: from)
        await core.kept.write(bytes: nil, key)
        return link
    }

    private func keep(_ link: StoredLink, _ key: KeptState.Key, of userID: String) async throws(ExperimentationError) {
        try await core.kept.require(link, key)
        await removeIfDenied(userID)
    }

    /// A user who denies consent isn't linked: a step tells the vendor of two ids and of what it finds the user by.
    private func checkConsent() throws(ExperimentationError) {
        if user.consent == .denied { throw .consentDenied }
    }
}
