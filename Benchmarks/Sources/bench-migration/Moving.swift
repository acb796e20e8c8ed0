import BenchmarkHarness
import Experimentation
import ExperimentationMigration
import ExperimentationSQLite
import ExperimentationTesting
import Foundation

/// Measures a move: reads, the leader's refresh with a bad shadow, and an import.
@main
enum Moving {
    static let flagCount = 1_000
    static let operations = 200_000
    static let keys = (0..<flagCount).map { "checkout.experiment.flag-number-\($0)" }

    static func main() async throws {
        var table = Table("Moving from one vendor to another")
        try await reading(&table)
        try await refreshing(&table)
        try await importing(&table)
        if table.missedBars > 0 { print("\n\(table.missedBars) bars missed") }
    }

    static func move(
        from old: any ExperimentationProvider,
        to new: any ExperimentationProvider,
        at stage: MigrationStage
    ) async throws -> ExperimentationClient {
        var plan = MigrationPlan(stage: stage, share: 0.5)
        plan.reassignment = .accepted
        return try await ExperimentationClient(provider: MigratingProvider(from: old, to: new, plan: plan))
    }

    // MARK: Reading

    private static func vendor(_ name: String) -> InMemoryProvider {
        InMemoryProvider(name: name, flags: keys.map { InMemoryFlag($0, true) }, needsConsent: false)
    }

    private static func reading(_ table: inout Table) async throws {
        let clients = [
            try await ExperimentationClient(provider: vendor("a")),
            try await move(from: vendor("a"), to: vendor("b"), at: .shadow),
            try await move(from: vendor("a"), to: vendor("b"), at: .live),
        ]
        let sessions = clients.map { $0.session(for: User(id: "user-1", consent: .granted)) }
        for each in sessions { try await each.refresh() }
        var found: [[Cost]] = [[], [], []]
        for _ in 0..<7 {
            // Interleaved, so that other load on the machine affects all alike.
            for index in clients.indices {
                found[index].append(
                    Cost.of(operations, rounds: 3) { count in
                        for number in 0..<count {
                            consume(sessions[index].bool(keys[number % flagCount], default: false))
                        }
                    }
                )
            }
        }
        let middle = found.map { $0.map(\.nanoseconds).sorted()[3] }
        let allocations = found.map { $0.map(\.allocations).sorted()[3] }
        table.add("session.bool, a vendor alone", middle[0], unit: "ns")
        for (index, stage) in [(1, "shadow"), (2, "live")] {
            table.add("session.bool, \(stage), more", middle[index] - middle[0], atMost: 5, unit: "ns")
            table.add("session.bool, \(stage), allocations", allocations[index], atMost: 0, unit: "")
        }
    }

    // MARK: Refreshing

    /// A slow vendor that is asked for each user.
    private struct Slow: ExperimentationProvider, DecisionSource {
        let name: String
        let time: Duration
        var isFailing = false
        var scope: String { "" }
        var capabilities: Set<Capability> { [.flags] }
        var freshness: Freshness { Freshness() }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(decisions: .asked(self))
        }

        func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
            try? await Task.sleep(for: time)
            if isFailing { throw ExperimentationError(.transport, "away") }
            return .decided(Decisions(flags: keys.prefix(20).map { ($0, Resolution(true, reason: .static)) }))
        }
    }

    private static func refreshing(_ table: inout Table) async throws {
        let leader = Slow(name: "leader", time: .milliseconds(4))
        let good = Slow(name: "candidate", time: .milliseconds(4))
        let kinds: [(name: String, client: ExperimentationClient)] = [
            ("none", try await move(from: leader, to: good, at: .dualWrite)),
            ("hanging for 10 s", try await move(from: leader, to: slow(.seconds(10)), at: .shadow)),
            ("failing", try await move(from: leader, to: slow(.zero, isFailing: true), at: .shadow)),
            ("100 times slower", try await move(from: leader, to: slow(.milliseconds(400)), at: .shadow)),
        ]
        var all: [[Double]] = kinds.map { _ in [] }
        var number = 0
        for _ in 0..<9 {
            for (index, kind) in kinds.enumerated() {
                for _ in 0..<200 {
                    number += 1
                    let session = kind.client.session(for: User(id: "user-\(number)", consent: .granted))
                    let start = ContinuousClock.now
                    try await session.refresh()
                    all[index].append((ContinuousClock.now - start).nanoseconds / 1e6)
                }
            }
        }
        let p99 = all.map { percentile(99, of: $0) }
        table.add("p99 of the leader's refresh, no candidate asked", p99[0], unit: "ms")
        for index in 1..<kinds.count {
            table.add(
                "p99 with a candidate \(kinds[index].name) / without",
                p99[index] / p99[0],
                atMost: 1.05,
                unit: "×"
            )
        }
        for kind in kinds { await kind.client.shutdown(within: .zero) }
    }

    private static func slow(_ time: Duration, isFailing: Bool = false) -> Slow {
        Slow(name: "candidate", time: time, isFailing: isFailing)
    }

    // MARK: Importing

    private static func importing(_ table: inout Table) async throws {
        let users = 1_000_000
        let plan = MigrationPlan(
            mapping: Mapping(
                ["checkout", "headline"].map {
                    ExperimentMapping(old: .init($0), new: .init($0), variations: ["a": "A", "b": "B"])
                }
            )
        )
        func line(_ number: Int) -> [UInt8]? {
            guard number < users else { return nil }
            let history = #"{"checkout":"\#(number % 2 == 0 ? "a" : "b")","headline":"a"}"#
            return Array(
                #"{"version":1,"data":{"visitorId":"visitor-\#(number)","assignationHistory":\#(history)}}"#.utf8
            )
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let old = vendor("a")
        let options = SQLiteStore.Options(limits: StoreLimits(maximumBytes: 4_000_000_000))
        let store = try await ClientStore.sqlite(at: folder.appending(path: "app.db"), options: options)
        let work = AssignmentImport(plan, as: .visitorCache, from: old, into: store.state)
        var number = 0
        let start = ContinuousClock.now
        let report = try await work.run(named: "bench") {
            defer { number += 1 }
            return line(number)
        }
        table.add(
            "importing 1,000,000 users into SQLite",
            (ContinuousClock.now - start).nanoseconds / 1e9,
            atMost: 60,
            unit: "s"
        )
        precondition(report.users == users && report.taken == 2 * users, "not everything was taken")

        number = 0
        let before = liveBytes()
        let loading = ContinuousClock.now
        let (loaded, _) = try await AssignmentImport.table(plan, as: .visitorCache) {
            defer { number += 1 }
            return line(number)
        }
        table.add("loading them into memory", (ContinuousClock.now - loading).nanoseconds / 1e9, unit: "s")
        table.add("bytes a user in memory", Double(liveBytes() - before) / Double(users), unit: "")
        let ids = (0..<4_096).map { "visitor-\(($0 &* 7_919) % users)" }
        let cost = Cost.of(operations) { count in
            for number in 0..<count { consume(loaded.variation(of: ids[number & 4_095], inExperiment: 0)) }
        }
        table.add("looking one user up", cost.nanoseconds, atMost: 150, unit: "ns")
        table.add("looking one user up, allocations", cost.allocations, atMost: 0, unit: "")
    }
}
