import CPostgres
import Foundation

/// One of the hosts in a database's URL.
struct DatabaseHost: Sendable, Hashable {
    /// Its name, or the folder of its socket; `nil` for libpq's default.
    var name: String?
    /// Its numeric address; `nil` to look it up.
    var address: String?
    var port: String

    /// The hosts in a URL's options, in order.
    ///
    /// - Returns: At least one host; `nil` if hosts, addresses and ports don't match, or if one of several hosts is
    ///   empty.
    static func all(in options: [String: String]) -> [DatabaseHost]? {
        func list(_ key: String) -> [String] {
            guard let text = options[key], !text.isEmpty else { return [] }
            return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let count = addresses.isEmpty ? max(names.count, 1) : addresses.count
        guard names.isEmpty || names.count == count, ports.count <= 1 || ports.count == count else { return nil }
        let hosts = (0..<count).map { place in
            let port = ports.count > 1 ? ports[place] : ports.first ?? ""
            return DatabaseHost(
                name: names.isEmpty || names[place].isEmpty ? nil : names[place],
                address: addresses.isEmpty || addresses[place].isEmpty ? nil : addresses[place],
                port: port.isEmpty ? "5432" : port
            )
        }
        return count > 1 && hosts.contains { $0.name == nil && $0.address == nil } ? nil : hosts
    }

    /// Whether the host is this machine.
    var isLocal: Bool {
        guard let host = address ?? name else { return true }
        return host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1"
            || host.hasPrefix("127.")
                && host.utf8.allSatisfy {
                    $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                }
    }

    /// The name to look up; `nil` for a socket's folder, and if the address is known.
    var unresolved: String? {
        guard address == nil, let name, !name.hasPrefix("/"), !name.hasPrefix("@") else { return nil }
        return name
    }

    /// A connection's options, with this host as the only one.
    func options(over options: [String: String]) -> [String: String] {
        options.merging(["host": name ?? "", "hostaddr": address ?? "", "port": port]) { $1 }
            .filter { !$0.value.isEmpty }
    }
}
