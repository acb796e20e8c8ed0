import Experimentation
import ExperimentationTesting
import Testing
import Waiting

@testable import ExperimentationMigration

@Suite("Real and apparent mismatches")
struct PlantedMismatchTests {
    static let good = Resolution("grey", variant: "a", reason: .split)

    /// The answer that causes each class of mismatch.
    static let planted: [(Mismatch.Kind, ScriptedVendor.Answer)] = [
        (.late, .flags([("color", good)], after: .seconds(3_600))),
        (.error, .failure(ExperimentationError(.transport, "away"))),
        (.missing, .flags([])),
        (.type, .flags([("color", Resolution(7, variant: "a", reason: .split))])),
        (.value, .flags([("color", Resolution("green", variant: "a", reason: .split))])),
        (.variant, .flags([("color", Resolution("grey", variant: "b", reason: .split))])),
        (.reason, .flags([("color", Resolution("grey", variant: "a", reason: .targetingMatch))])),
    ]

    static func client(
        _ old: any ExperimentationProvider,
        _ new: any ExperimentationProvider,
        _ time: ManualTime,
        _ shadow: ShadowPolicy
    ) async throws -> ExperimentationClient {
        var plan = MigrationPlan(stage: .shadow)
        plan.reassignment = .accepted
        plan.shadow = shadow
        // These tests wait for the comparisons, which the other tests would delay at background priority.
        plan.shadow.isInBackground = false
        return try await ExperimentationClient(
            provider: MigratingProvider(from: old, to: new, plan: plan),
            environment: ClientEnvironment(time: time)
        )
    }

    @Test("a planted mismatch of each of seven classes is found and named, and nothing else: 1 in 10,000 under soak")
    func planted() async throws {
        let every = isSoak ? 10_000 : 300
        let users = every * Self.planted.count
        let time = ManualTime()
        let old = ScriptedVendor("left") { _ in .flags([("color", Self.good)]) }
        let new = ScriptedVendor("right") { user in
            let number = Int(user.id) ?? 0
            guard number % every == every / 2 else { return .flags([("color", Self.good)]) }
            return Self.planted[number / every].1
        }
        let policy = ShadowPolicy(workers: 4, waiting: 256, deadline: .seconds(5), moment: .milliseconds(200))
        let client = try await Self.client(old, new, time, policy)
        let migration = try Moves.migration(of: client)
        for first in stride(from: 0, to: users, by: 200) {
            for user in first..<min(first + 200, users) {
                try await client.session(for: User(id: String(user), consent: .granted)).refresh()
            }
            try await eventually("these are compared") {
                time.advance(by: .seconds(1))
                return !migration.isComparing
            }
        }
        let report = migration.report
        let once = Dictionary(uniqueKeysWithValues: Mismatch.Kind.allCases.map { ($0, 1) })
        #expect(report.confirmed == once)
        #expect(report.observed == once)
        #expect(report.dropped == 0)
        #expect(report.recent.map(\.kind) == Mismatch.Kind.allCases)
        #expect(report.recent.map(\.key) == Array(repeating: "color", count: 7))
        #expect(report.rate == MismatchRate(compared: users, mismatched: 5))
        await client.shutdown(within: .zero)
    }

    @Test("a mismatch records both answers, the versions and ages of both configurations, and latencies")
    func contents() async throws {
        let time = ManualTime()
        let old = InMemoryProvider(name: "left", flags: [InMemoryFlag("color", "grey")], needsConsent: false)
        let new = ScriptedVendor("right") { _ in
            .flags([("color", Resolution("green", variant: "g", reason: .split))], after: .milliseconds(40))
        }
        let policy = ShadowPolicy(workers: 1, waiting: 0, deadline: .seconds(5), moment: .milliseconds(200))
        let client = try await Self.client(old, new, time, policy)
        let migration = try Moves.migration(of: client)
        let session = client.session(for: User(id: "ada@example.org", attributes: ["city": "Ulm"]))
        try await session.refresh()
        try await eventually("it is confirmed") {
            time.advance(by: .milliseconds(20))
            return !migration.isComparing
        }
        let found = try #require(migration.report.recent.first)
        let version = try #require(found.old.version)
        #expect(version.count == 16)
        var expected = Mismatch(
            key: "color",
            type: "string",
            kind: .value,
            leader: .old,
            old: .init(
                Resolution("grey", variant: "on", reason: .static),
                latency: .zero,
                version: version,
                age: .zero
            ),
            new: .init(Resolution("green", variant: "g", reason: .split), latency: found.new.latency),
            user: found.user
        )
        expected.old.resolution = found.old.resolution
        #expect(found == expected)
        #expect(found.old.resolution?.value == "grey")
        #expect(found.new.latency >= .milliseconds(40))
        #expect(found.user.count == 32)
        #expect(!"\(found)".contains("ada@") && !"\(found)".contains("Ulm"))
        await client.shutdown(within: .zero)
    }

    @Test("a vendor compared with itself has no confirmed mismatch, even if its configuration changes constantly")
    func againstItself() async throws {
        let rounds = isSoak ? 10_000 : 100
        let (perRound, flags) = (10, 5)
        func console(_ version: Int) -> [InMemoryFlag] {
            (0..<flags).map { InMemoryFlag("flag-\($0)", .string("v\(version)")) }
        }
        let time = ManualTime()
        // The same console changes both vendors, one later than the other.
        let old = InMemoryProvider(name: "left", flags: console(0), needsConsent: false)
        let new = InMemoryProvider(name: "right", flags: console(0), needsConsent: false)
        let policy = ShadowPolicy(workers: 64, waiting: 256, deadline: .seconds(60), moment: .milliseconds(600))
        let client = try await Self.client(old, new, time, policy)
        let migration = try Moves.migration(of: client)
        func come(_ round: Int) async throws {
            for user in 0..<perRound {
                try await client.session(for: User(id: "\(round)-\(user)", consent: .granted)).refresh()
            }
        }
        for round in 1...rounds {
            old.replace(flags: console(round))
            try await come(round)
            time.advance(by: .milliseconds(500))
            new.replace(flags: console(round))
            try await come(-round)
            time.advance(by: .milliseconds(500))
            try await eventually("there is room") {
                if migration.shadows.counts.waiting < 100 { return true }
                // All workers may be waiting for their moment to pass.
                time.advance(by: .milliseconds(500))
                return false
            }
        }
        try await eventually("all are compared") {
            time.advance(by: .seconds(1))
            return !migration.isComparing
        }
        let report = migration.report
        #expect(report.confirmed == [:])
        #expect(report.dropped == 0)
        #expect(report.compared == rounds * perRound * flags * 2)
        // There were differences to sort out.
        #expect((report.observed[.value] ?? 0) > rounds)
        await client.shutdown(within: .zero)
    }
}
