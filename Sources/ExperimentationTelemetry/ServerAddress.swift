/// A request's host and port.
struct ServerAddress {
    /// An IPv6 address in its brackets.
    let host: String
    let port: Int?

    /// Splits an authority, which names a host and perhaps a port.
    init(authority: String) {
        // The colons before the bracket belong to an IPv6 address.
        let end = authority.lastIndex(of: "]") ?? authority.startIndex
        let colon = authority[end...].firstIndex(of: ":")
        host = String(authority[..<(colon ?? authority.endIndex)])
        port = colon.flatMap { Int(authority[authority.index(after: $0)...]) }
    }
}
