import Experimentation

/// How signing in and out changes a visitor's two ids; pure.
extension Identity {
    /// Signs in: the previous id becomes the anonymous one, unless there is one already; an empty id changes nothing.
    mutating func authenticate(_ id: String) {
        guard !id.isEmpty else { return }
        if anonymousID == nil { anonymousID = self.id }
        self.id = id
        isAuthenticated = true
    }

    /// Signs out: the anonymous id becomes the visitor's again.
    mutating func unauthenticate() {
        if let anonymousID { id = anonymousID }
        anonymousID = nil
        isAuthenticated = false
    }

    /// The ids, current and from before signing in.
    var ids: [ExactText] { [id, anonymousID].compactMap { $0.map(ExactText.init) } }
}
