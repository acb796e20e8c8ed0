import BenchmarkHarness
import Experimentation
import ExperimentationComposition
import ExperimentationSQLite
import ExperimentationTesting
import Foundation

/// Measures a composition: reads, and accepting events for two destinations.
@main
enum Composition {
    static let flagCount = 1_000
    static let operations = 200_000
    static let keys = (0..<flagCount).map { "checkout.experiment.flag-number-\($0)" }
    static let user = User(id: "user-1", consent: .granted)

    static func main() async throws {
        var table = Table("Several vendors as one")
        try await reading(&table)
        try await accepting(&table)
        if table.missedBars > 0 { print("\n\(table.missedBars) bars missed") }
    }

    /// A vendor that decides but accepts no exposures, so that only reading is measured.
    private static func decider(_ name: String, _ keys: [String]) -> InMemoryProvider {
        InMemoryProvider(name: name, flags: keys.map { InMemoryFlag($0, true) }, needsConsent: false)
    }

    private static func client(_ provider: any ExperimentationProvider) async throws -> ExperimentationClient {
        let client = try await ExperimentationClient(provider: provider)
        try await client.refresh()
        return client
    }

    private static func reading(_ table: inout Table) async throws {
        let alone = try await client(decider("a", keys))
        let one = try await client(ComposedProvider([.init(decider("a", keys))]))
        let halves = [Array(keys[..<(flagCount / 2)]), Array(keys[(flagCount / 2)...])]
        let two = try await client(
            ComposedProvider([.init(decider("a", halves[0])), .init(decider("b", halves[1]))])
        )
        // Interleaved, so that other load on the machine affects all alike.
        var session: [[Double]] = [[], [], []]
        var stateless: [[Double]] = [[], [], []]
        let clients = [alone, one, two]
        let sessions = clients.map { $0.session(for: user) }
        for each in sessions { try await each.refresh() }
        for _ in 0..<7 {
            for index in clients.indices {
                let read = Cost.of(operations, rounds: 3) { count in
                    for number in 0..<count { consume(sessions[index].bool(keys[number % flagCount], default: false)) }
                }
                session[index].append(read.nanoseconds)
                let direct = Cost.of(operations, rounds: 3) { count in
                    for number in 0..<count {
                        consume(clients[index].bool(keys[number % flagCount], default: false, for: user))
                    }
                }
                stateless[index].append(direct.nanoseconds)
            }
        }
        for (name, found) in [("session.bool", session), ("client.bool for a user", stateless)] {
            let middle = found.map { $0.sorted()[3] }
            table.add("\(name), a vendor alone", middle[0], unit: "ns")
            table.add("\(name), a composition of one, more", middle[1] - middle[0], atMost: 2, unit: "ns")
            table.add("\(name), a composition of two, more", middle[2] - middle[0], atMost: 5, unit: "ns")
        }
    }

    private static func accepting(_ table: inout Table) async throws {
        var ratios: [Double] = []
        for _ in 0..<5 {
            let one = try await accepting([taking("a")])
            let two = try await accepting([taking("a"), taking("b")])
            ratios.append(two / one)
        }
        table.add("accepting for two destinations / for one", ratios.sorted()[2], atMost: 1.6, unit: "×")
    }

    /// A vendor whose events are delivered long after the measurement.
    private static func taking(_ name: String) -> InMemoryProvider {
        InMemoryProvider(
            name: name,
            batching: BatchPolicy(count: 1_000_000, interval: .seconds(3_600)),
            needsConsent: false,
            capabilities: [.tracking]
        )
    }

    private static func accepting(_ vendors: [InMemoryProvider]) async throws -> Double {
        let file = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString).sqlite")
        let client = try await ExperimentationClient(
            provider: ComposedProvider(vendors.map { .init($0) }),
            store: .sqlite(at: file)
        )
        let session = client.session(for: user)
        for number in 0..<200 { try await session.track(.custom("warm", value: Double(number))) }
        let start = ContinuousClock.now
        for number in 0..<2_000 { try await session.track(.custom("spun-wheel", value: Double(number))) }
        let cost = (ContinuousClock.now - start).nanoseconds
        await client.shutdown(within: .zero)
        return cost
    }
}
