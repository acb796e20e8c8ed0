import BenchmarkHarness
import Experimentation
import ExperimentationSQLite
import Foundation
import Synchronization

/// How one destination's failure affects another (P76): the latency of events to a working destination alone, and next
/// to one in trouble.
///
/// The other destination hangs, refuses, or has so many waiting events that new ones drop old ones: by their number,
/// where each new event drops one, or by their size.
enum Destinations {
    private enum Trouble: CaseIterable {
        /// No trouble: in a large store, and in a small one.
        case none, small
        case hangs, refuses
        /// More events wait than the store takes: by number, and by size in a small store.
        case full, large

        var isNone: Bool { self == .none || self == .small }
        var isOverflowing: Bool { self == .full || self == .large }
    }

    /// Records when each event arrives.
    private final class Arrivals: EventSink {
        let batching = BatchPolicy(count: 1, largest: 100, interval: .milliseconds(1))
        private let times = Mutex<[Int: ContinuousClock.Instant]>([:])

        func check(_ event: TrackingEvent) throws(ExperimentationError) {}
        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            let now = ContinuousClock.now
            times.withLock { times in
                for envelope in batch {
                    if case .custom(_, let value?) = envelope.event.kind { times[Int(value)] = now }
                }
            }
            return DeliveryReport(.delivered)
        }
        func time(of number: Int) -> ContinuousClock.Instant? { times.withLock { $0[number] } }
    }

    private struct Troubled: EventSink {
        let trouble: Trouble
        let batching = BatchPolicy(count: 1, largest: 100, interval: .milliseconds(1))

        func check(_ event: TrackingEvent) throws(ExperimentationError) {}
        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            guard trouble != .refuses else { return DeliveryReport(.outage()) }
            try? await Task.sleep(for: .seconds(3_600))
            return DeliveryReport(noAnswerTo: batch.count)
        }
    }

    private struct Both: ExperimentationProvider {
        let name = "both"
        let scope = ""
        let capabilities: Set<Capability> = [.tracking]
        let roles: ProviderRoles

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles { roles }
    }

    /// How many events the store of a full destination takes.
    private static let mostInFull = 1_000

    static func measure(_ table: inout Table) async throws {
        var slowest: [Trouble: [Double]] = [:]
        for _ in 0..<5 {
            for trouble in Trouble.allCases { slowest[trouble, default: []].append(try await p99(beside: trouble)) }
        }
        func median(_ trouble: Trouble) -> Double { (slowest[trouble] ?? []).sorted()[2] }
        table.add("to a destination that works, alone, p99", median(.none), unit: "ms")
        table.add("beside one that hangs / alone, p99", median(.hangs) / median(.none), atMost: 1.1, unit: "×")
        table.add("beside one that is away / alone, p99", median(.refuses) / median(.none), atMost: 1.1, unit: "×")
        table.add("beside one full by number / alone, p99", median(.full) / median(.none), atMost: 1.1, unit: "×")
        table.add(
            "beside one full by size / alone in a store as small, p99",
            median(.large) / median(.small),
            atMost: 1.1,
            unit: "×"
        )
    }

    private static func limits(_ trouble: Trouble) -> StoreLimits {
        switch trouble {
        case .none, .hangs, .refuses: StoreLimits(maximumCount: 100_000)
        case .full: StoreLimits(maximumCount: mostInFull)
        case .small, .large: StoreLimits(maximumBytes: 1_000_000)
        }
    }

    private static func p99(beside trouble: Trouble) async throws -> Double {
        let arrivals = Arrivals()
        var roles = ProviderRoles(events: arrivals)
        // For the same number of writes, the baseline also has a second destination, which accepts everything.
        let other = Destination(provider: "other", scope: "")
        roles.furtherRoutes = [
            EventRoute(
                to: other,
                by: trouble.isNone ? Vendor(batching: arrivals.batching) : Troubled(trouble: trouble)
            )
        ]
        let client = try await ExperimentationClient(
            provider: Both(roles: roles),
            store: .sqlite(
                at: Delivery.file(),
                options: .init(limits: limits(trouble))
            )
        )
        let session = client.session(for: User(id: "user-1"))
        if trouble.isOverflowing {
            for _ in 0...(trouble == .full ? mostInFull : 4_000) { try await session.track(.custom("spun-wheel")) }
            _ = try await client.flush(within: .milliseconds(500), retrying: false)
            let dropped = try await client.ledger().dropped[.overflow] ?? 0
            guard dropped > 0 else { throw ExperimentationError(.store, "nothing was dropped") }
        }
        var latencies: [Double] = []
        for number in 0..<2_000 {
            let start = ContinuousClock.now
            try await session.track(.custom("spun-wheel", value: Double(number)))
            try await Task.sleep(for: .milliseconds(1))
            while arrivals.time(of: number) == nil { try await Task.sleep(for: .microseconds(100)) }
            if let end = arrivals.time(of: number) { latencies.append((end - start).nanoseconds / 1e6) }
        }
        await client.shutdown(within: .zero)
        return percentile(99, of: latencies)
    }
}
