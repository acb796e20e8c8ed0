import Experimentation

extension TenantConfiguration {
    /// Identifies the connection that this tenant needs.
    var connection: TenantConnection.Identity {
        TenantConnection.Identity(
            tenant: name,
            vendor: move == nil ? vendor : nil,
            move: move?.withoutStage,
            store: store,
            reuse: reuse,
            decisionBytes: decisionBytes
        )
    }
}
