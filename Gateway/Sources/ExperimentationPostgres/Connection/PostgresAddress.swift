import CPostgres
import Experimentation

/// Where a database is, checked: a password goes over no network in the clear.
struct PostgresAddress: Sendable {
    /// What libpq is given; it may hold a password, so it is shown nowhere.
    let url: String
    /// What may be shown: host, port and database.
    let shown: String

    /// Checks a connection URL, as libpq takes it.
    ///
    /// - Throws: `ErrorCode.configuration`; the message never repeats the URL.
    init(_ url: String) throws(ExperimentationError) {
        guard let said = Self.options(PQconninfoParse(url, nil)) else {
            throw Self.error("expected a URL such as postgresql://user@host/database?sslmode=verify-full")
        }
        // A file of services may name any host, and nobody sees it here.
        guard said["service"] == nil else { throw Self.error("a service can't be named, only its host") }
        // The environment fills in what the URL leaves out.
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

    /// A socket's folder, or loopback.
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
