/// Why a mock server couldn't do what was asked.
public enum MockServerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Somebody else listens on this port.
    case portInUse(host: String, port: Int)
    /// The address can't be listened on, for another reason.
    case cannotListen(host: String, port: Int, reason: String)
    /// What was waited for didn't happen in time.
    case timedOut(seconds: Double, seen: [String])

    /// The reason and the remedy, for a person.
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
