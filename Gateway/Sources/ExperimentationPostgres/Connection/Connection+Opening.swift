import Experimentation

extension Connection {
    /// Connects to the first host that answers, beginning with the one that answered last time.
    ///
    /// libpq also tries several hosts, but it waits for a silent one until the deadline, and looks up names without a
    /// time limit. Here, each host has its share of the time, and so has each of its addresses.
    static func opened(to address: PostgresAddress, by deadline: Deadline) throws(ConnectionFailure) -> Connection {
        let last = address.last.host
        var failures: [ConnectionFailure] = []
        let hosts = address.hosts.filter { $0.isSame(as: last) } + address.hosts.filter { !$0.isSame(as: last) }
        for (place, host) in hosts.enumerated() {
            let share = deadline.share(of: hosts.count - place)
            do throws(ConnectionFailure) {
                return try opened(host, of: address, after: last, by: share)
            } catch {
                failures.append(error)
            }
        }
        throw deadline.isOver ? .late(deadline.patience) : .of(failures)
    }

    private static func opened(
        _ host: DatabaseHost,
        of address: PostgresAddress,
        after last: DatabaseHost?,
        by deadline: Deadline
    ) throws(ConnectionFailure) -> Connection {
        var endpoints = [host]
        if let name = host.unresolved {
            let found = try address.lookup.addresses(of: name, by: deadline)
            endpoints = found.map { DatabaseHost(name: name, address: $0, port: host.port) }
            endpoints = endpoints.filter { $0 == last } + endpoints.filter { $0 != last }
        }
        var failures: [ConnectionFailure] = []
        for (place, endpoint) in endpoints.enumerated() {
            do throws(ConnectionFailure) {
                let share = deadline.share(of: endpoints.count - place)
                let connection = try Connection(endpoint.options(over: address.options), by: share)
                address.last.host = endpoint
                return connection
            } catch {
                failures.append(error)
            }
        }
        throw .of(failures)
    }
}

extension DatabaseHost {
    /// Whether another one is the same host, at any of its addresses.
    fileprivate func isSame(as other: DatabaseHost?) -> Bool {
        guard let other, name == other.name, port == other.port else { return false }
        return address == nil || address == other.address
    }
}

extension ConnectionFailure {
    /// The failures of several hosts as one.
    fileprivate static func of(_ failures: [ConnectionFailure]) -> ConnectionFailure {
        if failures.count == 1 { return failures[0] }
        let messages = failures.map { failure in
            switch failure {
            case .lost(let message): message
            case .late: "no answer"
            case .refused, .forgotten, .store, .undecided: failure.error.message
            }
        }
        return .lost(messages.isEmpty ? "the host has no address" : messages.joined(separator: "; "))
    }
}
