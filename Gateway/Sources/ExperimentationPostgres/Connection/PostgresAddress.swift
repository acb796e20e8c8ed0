import CPostgres
import Experimentation
import Synchronization

/// The validated address of a database; rules out unencrypted passwords on a network.
struct PostgresAddress: Sendable {
    /// What the URL says, by libpq's keywords; it may contain a password and is never shown.
    let options: [String: String]
    /// The hosts, in the order in which they are tried.
    let hosts: [DatabaseHost]
    /// The host that answered last, with its address; all connections share it.
    let last = LastHost()
    let lookup: HostLookup
    /// The host, port and database, which may be shown.
    let shown: String

    /// Validates a connection URL in libpq's format.
    ///
    /// - Throws: `ErrorCode.configuration`; the message never contains the URL.
    init(_ url: String, lookup: HostLookup = .shared) throws(ExperimentationError) {
        guard let said = Self.options(PQconninfoParse(url, nil)) else {
            throw Self.error("expected a URL such as postgresql://user@host/database?sslmode=verify-full")
        }
        // A service file may name any host, which can't be checked here.
        guard said["service"] == nil else { throw Self.error("a service can't be named, only its host") }
        // Environment variables supply what the URL omits.
        let options = (Self.options(PQconndefaults()) ?? [:]).merging(said) { $1 }
        guard let hosts = DatabaseHost.all(in: options) else {
            throw Self.error("each of several hosts needs a name or an address, and there must be one port or one each")
        }
        let mode = options["sslmode"] ?? "prefer"
        if let far = hosts.first(where: { !$0.isLocal }), !Self.encrypting.contains(mode) {
            throw Self.error(
                "\(far.address ?? far.name ?? "") isn't this machine, and sslmode is \(mode): one of \(Self.encrypting.sorted().joined(separator: ", ")) is needed"
            )
        }
        (self.options, self.hosts, self.lookup) = (said, hosts, lookup)
        // Without a database, libpq uses the one that is named after the user.
        let database = options["dbname"] ?? options["user"] ?? ""
        shown = "\(hosts[0].address ?? hosts[0].name ?? "local"):\(hosts[0].port)/\(database)"
    }

    private static func options(_ list: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String]? {
        guard let list else { return nil }
        defer { PQconninfoFree(list) }
        var options: [String: String] = [:]
        var next = list
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        return options
    }

    private static let encrypting: Set = ["require", "verify-ca", "verify-full"]

    private static func error(_ problem: String) -> ExperimentationError {
        ExperimentationError(.configuration, "The address of the PostgreSQL database: \(problem)")
    }
}

/// The host that answered last, of those in an address.
final class LastHost: Sendable {
    private let state = Mutex<DatabaseHost?>(nil)

    var host: DatabaseHost? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
