import CPostgres
import Experimentation

/// The validated address of a database; rules out unencrypted passwords on a network.
struct PostgresAddress: Sendable {
    /// The URL for libpq; it may contain a password and is never shown.
    let url: String
    /// The host, port and database, which may be shown.
    let shown: String

    /// Validates a connection URL in libpq's format.
    ///
    /// - Throws: `ErrorCode.configuration`; the message never contains the URL.
    init(_ url: String) throws(ExperimentationError) {
        guard let said = Self.options(PQconninfoParse(url, nil)) else {
            throw Self.error("expected a URL such as postgresql://user@host/database?sslmode=verify-full")
        }
        // A service file may name any host, which can't be checked here.
        guard said["service"] == nil else { throw Self.error("a service can't be named, only its host") }
        // Environment variables supply what the URL omits.
        let options = (Self.options(PQconndefaults()) ?? [:]).merging(said) { $1 }
        let hosts = (options["hostaddr"] ?? options["host"] ?? "").split(separator: ",").map(String.init)
        let mode = options["sslmode"] ?? "prefer"
        if let far = hosts.first(where: { !Self.isLocal($0) }), !Self.encrypting.contains(mode) {
            throw Self.error(
                "\(far) isn't this machine, and sslmode is \(mode): one of \(Self.encrypting.sorted().joined(separator: ", ")) is needed"
            )
        }
        self.url = url
        shown = "\(hosts.first ?? "local"):\(options["port"] ?? "5432")/\(options["dbname"] ?? "")"
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

    /// Whether the host is a socket folder or loopback.
    private static func isLocal(_ host: String) -> Bool {
        host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.hasPrefix("127.")
                && host.utf8.allSatisfy {
                    $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                }
    }

    private static func error(_ problem: String) -> ExperimentationError {
        ExperimentationError(.configuration, "The address of the PostgreSQL database: \(problem)")
    }
}
