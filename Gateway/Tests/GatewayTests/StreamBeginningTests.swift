import Experimentation
import ExperimentationTesting
import Testing

@testable import GatewayServer

@Suite("Streams that begin during a reload")
struct StreamBeginningTests {
    /// The keys of a tenant with the token `t0ken`.
    private static func key(isTicket: Bool, of tenant: Tenant) -> StreamKey {
        isTicket ? StreamKey(ticket: tenant.ticket, token: nil) : StreamKey(ticket: nil, token: "t0ken")
    }

    @Test(
        "a stream whose token is removed after the check and before it has a place gets no place",
        arguments: [true, false],
        [(["t0ken"], true), (["t0ken", "more"], true), (["more"], false)]
    )
    func removedToken(isTicket: Bool, reload: (tokens: [String], mayListen: Bool)) async throws {
        try await Served.run { served in
            let responder = served.gateway.responder
            let key = Self.key(isTicket: isTicket, of: responder.tenants.tenants[0])
            let tenant = try #require(key.tenant(of: responder.tenants))
            var configuration = tenant.configuration
            configuration.tokens = reload.tokens.map { TokenDigest(of: $0) }
            try await served.gateway.reload([configuration])
            let place = responder.listen(ChangeStreams.Listener(tell: { _ in }, end: {}), to: tenant, by: key)
            #expect((place != nil) == reload.mayListen)
            #expect(tenant.connection.changes.count == (reload.mayListen ? 1 : 0))
            if let place { tenant.connection.changes.leave(place.id) }
        }
    }

    @Test(
        "a stream whose token belongs to another tenant before it has a place gets no place",
        arguments: [true, false]
    )
    func movedToken(isTicket: Bool) async throws {
        try await Served.run {
            $0.tenants.append(Served.tenant("other", token: "more"))
        } body: { served in
            let responder = served.gateway.responder
            let key = Self.key(isTicket: isTicket, of: responder.tenants.tenants[0])
            let tenant = try #require(key.tenant(of: responder.tenants))
            var configurations = responder.tenants.tenants.map(\.configuration)
            (configurations[0].tokens, configurations[1].tokens) = (configurations[1].tokens, configurations[0].tokens)
            try await served.gateway.reload(configurations)
            let listener = ChangeStreams.Listener(tell: { _ in }, end: {})
            #expect(responder.listen(listener, to: tenant, by: key) == nil)
            #expect(tenant.connection.changes.count == 0)
        }
    }
}
