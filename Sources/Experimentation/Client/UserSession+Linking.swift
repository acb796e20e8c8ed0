/// How an anonymous user becomes a known one.
extension UserSession {
    /// Makes this session's user a known one, and has the vendor join what it knows of both.
    ///
    /// Where that takes the vendor several steps, each is written down before the next, so that a linking that was
    /// interrupted is taken up by the next call that asks for the same, in a later run if need be. A call that names another
    /// user or other criteria begins anew, and what was interrupted is given up. Where it takes no steps, this is
    /// ``identify(_:)``, and the criteria aren't looked at.
    ///
    /// - Parameters:
    ///   - identity: Who it is now.
    ///   - criteria: What the vendor finds the user by, where that isn't the id.
    /// - Returns: The ids that the vendor goes by from now on.
    /// - Throws: Why a step wasn't taken; calling again goes on from there.
    @discardableResult
    public func link(
        to identity: Identity,
        criteria: [String: String] = [:]
    ) async throws(ExperimentationError) -> Identity {
        guard let linker = core.roles.identity else {
            identify(identity)
            return identity
        }
        let from = user.identity
        let key = KeptState.Key.link(of: from.id)
        var link = StoredLink(from: from, to: identity, criteria: criteria)
        if let stored = await core.kept.read(StoredLink.self, key), stored.asksFor(identity, criteria) { link = stored }
        try await core.kept.require(link, key)
        while !link.progress.isComplete {
            link.progress = try await linker.advance(link.progress)
            try await core.kept.require(link, key)
        }
        identify(link.progress.to)
        await core.kept.write(bytes: nil, key)
        return link.progress.to
    }
}

/// A linking in its written form.
struct StoredLink: Codable, Sendable {
    /// Whom the application asked for; the linker may go on with other ids.
    var to: Identity
    /// By what, likewise.
    var criteria: [String: String]
    /// How far it has come.
    var progress: LinkProgress

    init(from: Identity, to: Identity, criteria: [String: String]) {
        self.to = to
        self.criteria = criteria
        progress = LinkProgress(from: from, to: to, criteria: criteria)
    }

    /// Whether this is what a call asks for.
    func asksFor(_ to: Identity, _ criteria: [String: String]) -> Bool { self.to == to && self.criteria == criteria }
}
