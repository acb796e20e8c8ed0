import Experimentation
import ExperimentationPostgres
import Foundation
import PostgresServers

// Benchmarks the store on PostgreSQL against its own server with default settings: commits survive a power failure.

/// Latency figures.
struct Figures {
    var seconds: [Double] = []
    var total = 0.0
    var units = 0

    var perSecond: Int { Int(Double(units) / max(total, 0.000_001)) }
    /// The nearest-rank percentile: the least time that at least so many percent of the times don't exceed.
    func milliseconds(_ percent: Int) -> String {
        guard !seconds.isEmpty else { return "-" }
        return String(format: "%.1f", seconds.sorted()[(seconds.count * percent + 99) / 100 - 1] * 1_000)
    }
}

/// Measures concurrent callers that repeat an operation.
func measure(
    callers: Int,
    rounds: Int,
    _ body: @escaping @Sendable (_ caller: Int, _ round: Int) async throws -> Int
) async throws -> Figures {
    let began = ContinuousClock.now
    var figures = try await withThrowingTaskGroup(of: (Int, [Double]).self) { group in
        for caller in 0..<callers {
            group.addTask {
                var (units, seconds) = (0, [Double]())
                for round in 0..<rounds {
                    let start = ContinuousClock.now
                    units += try await body(caller, round)
                    seconds.append(start.duration(to: .now) / .seconds(1))
                }
                return (units, seconds)
            }
        }
        return try await group.reduce(into: Figures()) { figures, part in
            figures.units += part.0
            figures.seconds += part.1
        }
    }
    figures.total = began.duration(to: .now) / .seconds(1)
    return figures
}

func line(_ name: String, _ figures: Figures) {
    let columns = [name, "\(figures.perSecond)", figures.milliseconds(50), figures.milliseconds(99)]
    print("| " + columns.joined(separator: " | ") + " |")
}

func event(_ user: Int) -> NewEvent {
    NewEvent(
        Envelope(
            id: UUID().uuidString,
            identity: Identity(id: "user-\(user)"),
            session: "s",
            event: .purchase(Order(id: "order-\(user)", total: 12)),
            date: Date()
        ),
        to: Destination(provider: "bench", scope: "")
    )
}

func newStore(_ server: PostgresServer, connections: Int, shards: Int) async throws -> PostgresStore {
    let schema = "b" + UUID().uuidString.replacing("-", with: "").lowercased()
    return try await PostgresStore.open(
        server.url,
        options: PostgresStoreOptions(schema: schema, connections: connections, patience: .seconds(60), shards: shards)
    )
}

/// Fills a store, and measures how fast deliverers empty it.
func deliver(_ server: PostgresServer, deliverers: Int, events: Int) async throws {
    let store = try await newStore(server, connections: 8, shards: 16)
    for start in stride(from: 0, to: events, by: 1_000) {
        _ = try await store.outbox.append((start..<(start + 1_000)).map { event($0) }, now: Date())
    }
    let figures = try await measure(callers: deliverers, rounds: 1) { deliverer, _ in
        var count = 0
        let destination = Destination(provider: "bench", scope: "")
        while true {
            let request = LeaseRequest(
                for: destination,
                owner: Int64(deliverer + 1),
                batches: 1,
                of: 100,
                now: Date(),
                until: Date() + 60
            )
            guard case .leased(let lease) = try await store.outbox.lease(request) else { return count }
            let settlements = lease.batches.joined().map { Settlement(of: $0, .delivered) }
            _ = try await store.outbox.settle(settlements, under: lease.token, now: Date())
            count += settlements.count
        }
    }
    print("| lease and settle, batches of 100, \(deliverers) deliverers | \(figures.perSecond) | | |")
    await store.close()
}

let server = try PostgresServer(isDurable: true)
print("| | a second | p50 ms | p99 ms |\n|---|---|---|---|")
for (callers, size, rounds) in [(1, 1, 500), (8, 1, 200), (1, 100, 60), (8, 100, 30), (8, 1_000, 6)] {
    for shards in [1, 16] {
        let store = try await newStore(server, connections: 8, shards: shards)
        let figures = try await measure(callers: callers, rounds: rounds) { caller, round in
            let first = (caller * rounds + round) * size
            _ = try await store.outbox.append((first..<(first + size)).map { event($0) }, now: Date())
            return size
        }
        line("append \(size) at once, \(callers) callers, \(shards) shards", figures)
        await store.close()
    }
}
for deliverers in [1, 2, 4] { try await deliver(server, deliverers: deliverers, events: 20_000) }
for callers in [1, 8] {
    let store = try await newStore(server, connections: 8, shards: 16)
    line(
        "put if absent, \(callers) callers",
        try await measure(callers: callers, rounds: 300) { caller, round in
            _ = try await store.state.update("assignment/\(caller)/\(round)", to: [1, 2, 3], if: nil)
            return 1
        }
    )
    line(
        "read a value, \(callers) callers",
        try await measure(callers: callers, rounds: 500) { caller, round in
            _ = try await store.state.value(for: "assignment/\(caller)/\(round % 300)")
            return 1
        }
    )
    await store.close()
}
let people = try await newStore(server, connections: 8, shards: 16)
for start in stride(from: 0, to: 10_000, by: 1_000) {
    _ = try await people.outbox.append((start..<(start + 1_000)).map { event($0 / 10) }, now: Date())
}
line(
    "deny consent, one user with ten events, 8 callers",
    try await measure(callers: 8, rounds: 100) { caller, round in
        try await people.outbox.setConsent([ConsentChange(userID: "user-\(caller * 100 + round)", isGranted: false)])
            .removed / 10
    }
)
await people.close()
server.stop()
