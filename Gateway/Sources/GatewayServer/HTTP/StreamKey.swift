/// What opens a stream of changes: a ticket, or a token.
struct StreamKey: Sendable {
    private let ticket: String?
    private let token: TokenDigest?

    /// Creates a key from the query's ticket, and the token in the fields.
    init(ticket: String?, token: String?) {
        self.ticket = ticket
        self.token = token.map { TokenDigest(of: $0) }
    }

    /// The tenant whose stream the key opens; `nil` if there is none.
    func tenant(of directory: TenantDirectory) -> Tenant? {
        ticket.flatMap { directory.tenant(forTicket: $0) } ?? token.flatMap { directory.tokens.holder(of: $0) }
    }
}
