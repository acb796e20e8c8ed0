import Dispatch
import Experimentation
import GatewayWaiting
import PostgresServers
import Testing

@testable import ExperimentationPostgres

@Suite("An address with several hosts")
struct HostsTests {
    @Test(
        "hosts, addresses and ports are matched by position",
        arguments: [
            ("postgresql://app@/app", [DatabaseHost(port: "5432")]),
            (
                "postgresql://a,b:5433/app?sslmode=require",
                [DatabaseHost(name: "a", port: "5432"), DatabaseHost(name: "b", port: "5433")]
            ),
            (
                "host=a,b port=1 sslmode=require",
                [DatabaseHost(name: "a", port: "1"), DatabaseHost(name: "b", port: "1")]
            ),
            (
                "host=a,b hostaddr=10.0.0.1, port=1,2 sslmode=require",
                [DatabaseHost(name: "a", address: "10.0.0.1", port: "1"), DatabaseHost(name: "b", port: "2")]
            ),
            ("hostaddr=::1 port=7", [DatabaseHost(address: "::1", port: "7")]),
        ]
    )
    func parsed(url: String, hosts: [DatabaseHost]) throws {
        #expect(try PostgresAddress(url).hosts == hosts)
    }

    @Test(
        "the shown form of an address names the database that libpq connects to",
        arguments: [
            ("postgresql://app:s3cret@/events", "local:5432/events"), ("postgresql://app:s3cret@/", "local:5432/app"),
            ("postgresql://app@a,b:5433/events?sslmode=require", "a:5432/events"),
        ]
    )
    func shown(url: String, shown: String) throws {
        #expect(try PostgresAddress(url).shown == shown)
    }

    /// Connects a number of times, on a thread that may wait.
    private static func connect(_ address: PostgresAddress, _ times: Int, within patience: Duration) async throws {
        try await ownThread {
            for _ in 0..<times {
                let deadline = Deadline(patience)
                let connection = try Connection.opened(to: address, by: deadline)
                _ = try connection.run([Statement("SELECT 1")], by: deadline)
            }
        }
    }

    @Test("a silent host is abandoned for the next one, which is tried first from then on")
    func silent() async throws {
        let silent = try SilentListener()
        defer { silent.stop() }
        let server = try PostgresServer.shared
        let address = try PostgresAddress(
            "postgresql:///postgres?host=127.0.0.1,\(server.sockets)&port=\(silent.port),5432&user=postgres"
        )
        try await Self.connect(address, 1, within: .seconds(6))
        #expect(silent.takeConnections() == 1)
        try await Self.connect(address, 3, within: .seconds(6))
        #expect(silent.takeConnections() == 0)
    }

    @Test("a name is looked up by one thread at a time, however often a store is opened")
    func oneLookup() throws {
        let url = "postgresql://a,b/app?sslmode=require"
        #expect(try PostgresAddress(url).lookup === PostgresAddress(url).lookup)
    }

    @Test("a host whose address isn't found in time is abandoned for the next one")
    func unresolved() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let lookup = HostLookup { _ in
            gate.wait()
            return .success([])
        }
        let server = try PostgresServer.shared
        let url = "postgresql:///postgres?host=localhost,\(server.sockets)&user=postgres"
        try await Self.connect(try PostgresAddress(url, lookup: lookup), 1, within: .seconds(6))
    }

    @Test("a silent address is abandoned for the next one of the same name")
    func addresses() async throws {
        let silent = try SilentListener()
        defer { silent.stop() }
        let address = try PostgresAddress(
            "postgresql://localhost:\(silent.port)/postgres",
            lookup: HostLookup { _ in .success(["127.0.0.1", "127.0.0.2"]) }
        )
        // No server listens at the second address.
        let error = await #expect(throws: ConnectionFailure.self) {
            try await Self.connect(address, 1, within: .seconds(2))
        }
        guard case .lost(let message)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(message.hasPrefix("no answer; "))
        #expect(message.contains("127.0.0.2"))
    }

    @Test("all attempts to connect share one time limit, however long the operation may take")
    func oneLimit() async throws {
        let silent = try SilentListener()
        defer { silent.stop() }
        // No server listens at the second address, which is a reason to try again.
        let address = try PostgresAddress(
            "postgresql://localhost:\(silent.port)/postgres",
            lookup: HostLookup { _ in .success(["127.0.0.1", "127.0.0.2"]) }
        )
        let pool = ConnectionPool(to: address, schema: newSchema(), connections: 1, patience: .milliseconds(400))
        let error = await #expect(throws: ExperimentationError.self) {
            try await pool.transaction(.repeatable, within: .seconds(60)) { _ throws(ConnectionFailure) in }
        }
        #expect(error?.cause is LateAnswer, "\(String(describing: error))")
        pool.close()
    }

    @Test("a slow lookup continues once for all callers that wait for it, and each caller gives up at its deadline")
    func lookups() async throws {
        let gate = DispatchSemaphore(value: 0)
        let count = Noted(0)
        let lookup = HostLookup { _ in
            count.change { $0 += 1 }
            gate.wait()
            return .success(["10.0.0.1"])
        }
        try await ownThread {
            for _ in 0..<3 {
                let error = #expect(throws: ConnectionFailure.self) {
                    try lookup.addresses(of: "db.example", by: Deadline(.milliseconds(20)))
                }
                guard case .late? = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
        }
        try await eventually("the lookup has begun") { count.value > 0 }
        #expect(count.value == 1)
        // The second time is for a lookup that begins when the first one has just ended.
        gate.signal()
        gate.signal()
        let found = try await ownThread {
            try ["db.example", "10.0.0.2"].map { try lookup.addresses(of: $0, by: Deadline(.seconds(60))) }
        }
        #expect(found == [["10.0.0.1"], ["10.0.0.2"]])
    }
}
