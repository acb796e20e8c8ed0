import Experimentation

/// How signing in and out changes a visitor's two ids; pure.
extension Identity {
    /// Signs in: the previous id becomes the anonymous one, unless there is one already.
    ///
    /// - Returns: Whether anything changed.
    mutating func authenticate(_ id: String) -> Bool {
        guard !id.isEmpty else { return false }
        let before = self
        if anonymousID == nil { anonymousID = self.id }
        self.id = id
        isAuthenticated = true
        return before != self
    }

    /// Signs out: the anonymous id becomes the visitor's again.
    ///
    /// - Returns: Whether anything changed.
    mutating func unauthenticate() -> Bool {
        let before = self
        if let anonymousID { id = anonymousID }
        anonymousID = nil
        isAuthenticated = false
        return before != self
    }

    /// The ids, current and from before signing in.
    var ids: [ExactText] { [id, anonymousID].compactMap { $0.map(ExactText.init) } }
}
