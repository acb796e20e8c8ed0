/// Why a mock server operation failed.
public enum MockServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process listens on this port.
    case portInUse(host: String, port: Int)
    /// The server can't listen on the address, for another reason.
    case cannotListen(host: String, port: Int, reason: String)
    /// The awaited condition wasn't met in time.
    case timedOut(seconds: Double, seen: [String])

    /// The reason and the remedy.
    public var description: String {
        switch self {
        case .portInUse(let host, let port):
            "port \(port) on \(host) is in use; choose another, or 0 for any that is free"
        case .cannotListen(let host, let port, let reason):
            "cannot listen on \(host):\(port): \(reason); choose another port, or 0 for any that is free"
        case .timedOut(let seconds, let seen):
            "not seen within \(seconds) s; the journal holds \(seen.isEmpty ? "nothing" : seen.joined(separator: ", "))"
        }
    }
}
