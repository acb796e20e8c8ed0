import Experimentation

/// What only this vendor has, beside ``EngageProvider/xmlapi`` and ``EngageProvider/mobileIdentity``.
extension EngageProvider {
    /// The vendor's older way to an identity.
    public var anonymousUser: AnonymousUser { AnonymousUser(client: xmlapi, profile: profile) }
}

extension EngageProvider {
    /// How many calls of the XML interface wait for their turn.
    public var waitingCalls: Int { xmlapi.connection.line.waiting }
}
