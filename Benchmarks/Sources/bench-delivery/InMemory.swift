import BenchmarkHarness
import Experimentation
import Foundation

/// The in-memory store with many waiting events: a full store compared with one that has room, and draining many events
/// compared with draining few.
enum InMemory {
    private static let waiting = 100_000

    static func measure(_ table: inout Table) async throws {
        var appended: [(room: Double, full: Double)] = []
        var drained: [(few: Double, many: Double)] = []
        for _ in 0..<3 {
            appended.append(
                (
                    try await appending(to: InMemoryOutboxStore()),
                    try await appending(to: InMemoryOutboxStore(maximumCount: waiting))
                )
            )
            drained.append((try await draining(waiting / 100, times: 100), try await draining(waiting, times: 1)))
        }
        let ratios = (
            full: appended.map { $0.full / $0.room }.sorted()[1], many: drained.map { $0.many / $0.few }.sorted()[1]
        )
        table.add("in memory, store with room", appended[1].room, unit: "/s")
        table.add("in memory, full store / one with room", ratios.full, atLeast: 0.5, unit: "×")
        table.add("in memory, drained with few waiting", drained[1].few, unit: "/s")
        table.add("in memory, drained with many / with few", ratios.many, atLeast: 0.5, unit: "×")
    }

    private static func events(_ count: Int) -> [NewEvent] {
        (0..<count).map { NewEvent(Delivery.envelope($0, user: "user-\($0 % 50)"), to: Delivery.there) }
    }

    /// The rate of single events once the store has as many as one of the two stores takes.
    private static func appending(to store: InMemoryOutboxStore) async throws -> Double {
        _ = try await store.append(events(waiting), now: Date())
        let more = events(20_000)
        return try await Delivery.rate(more.count) {
            for event in more { _ = try await store.append([event], now: Date()) }
        }
    }

    /// The rate at which batches of a hundred are leased and settled until nothing waits.
    private static func draining(_ count: Int, times: Int) async throws -> Double {
        let store = InMemoryOutboxStore()
        let events = events(count)
        var seconds = 0.0
        for _ in 0..<times {
            _ = try await store.append(events, now: Date())
            seconds += 1 / (try await Delivery.rate(1) { try await drain(store) })
        }
        return Double(count * times) / seconds
    }

    private static func drain(_ store: InMemoryOutboxStore) async throws {
        while true {
            let now = Date()
            let request = LeaseRequest(for: Delivery.there, owner: 1, batches: 1, of: 100, now: now, until: now + 60)
            guard case .leased(let lease) = try await store.lease(request) else { return }
            _ = try await store.settle(
                lease.batches.joined().map { Settlement(of: $0, .delivered) },
                under: lease.token,
                now: now
            )
        }
    }
}
