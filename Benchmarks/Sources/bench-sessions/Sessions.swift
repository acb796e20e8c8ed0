import BenchmarkHarness
import Experimentation
import ExperimentationSQLite
import Foundation

/// Measures a server's users: each arrives, gets decisions, reads five flags, tracks three durable events, and leaves.
@main
struct Sessions {
    static let users = 20_000
    static let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-sessions-\(getpid())")
    static let limits = StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32)

    static func main() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var table = Table("Sessions (users a second; a core is a second of processor time)")
        let parts = Set(CommandLine.arguments.dropFirst())
        func isWanted(_ part: String) -> Bool { parts.isEmpty || parts.contains(part) }
        if isWanted("bare") { try await bare(&table) }
        if isWanted("asked") { try await clients(Fleet(isComputed: false), "asked", &table) }
        if isWanted("computed") { try await clients(Fleet(isComputed: true), "computed", atLeast: 10_000, &table) }
        if table.missedBars > 0 {
            print("\n\(table.missedBars) bars missed")
            try? FileManager.default.removeItem(at: folder)
            exit(1)
        }
    }

    static func file() -> URL { folder.appendingPathComponent(UUID().uuidString + ".sqlite") }

    /// The store alone with the same events and the same number of concurrent callers.
    static func bare(_ table: inout Table) async throws {
        let store = try SQLiteStore(at: file(), options: .init(limits: limits))
        let destination = Fleet(isComputed: true).destination
        let (wall, core) = try await measured {
            for block in stride(from: 0, to: users, by: 128) {
                var events: [NewEvent] = []
                for user in block..<min(block + 128, users) {
                    for number in 0..<3 {
                        let envelope = Envelope(
                            id: UUID().uuidString,
                            identity: Identity(id: "user-\(user)"),
                            session: "6E1B8F0A-3A5D-4E63-9F5C-0C8E6B3F2A11",
                            event: .custom("spun-wheel", value: Double(number), attributes: ["colour": "red"]),
                            date: Date()
                        )
                        events.append(NewEvent(envelope, to: destination))
                    }
                }
                _ = try await store.append(events, now: Date())
            }
        }
        await store.close()
        table.add("bare store, three events a user, 384 a transaction", Double(users) / wall, unit: "/s")
        table.add("  a core", Double(users) / core, unit: "/s")
    }

    /// The client with 128 concurrent users.
    static func clients(
        _ provider: Fleet,
        _ name: String,
        atLeast bar: Double? = nil,
        _ table: inout Table
    ) async throws {
        let client = try await ExperimentationClient(
            provider: provider,
            store: .sqlite(at: file(), options: .init(limits: limits)),
            options: ClientOptions(exposurePolicy: .manual)
        )
        await client.setConnectivity(.offline)
        try await serve(client, 1_000)
        let before = liveBytes()
        let (wall, core) = try await measured { try await serve(client, users) }
        let grown = Double(liveBytes() - before) / 1e6
        let ledger = try await client.ledger()
        precondition(ledger.isBalanced && ledger.accepted == 3 * (users + 1_000))
        await client.shutdown(within: .zero)
        table.add("\(name): users, 128 at a time", Double(users) / wall, unit: "/s")
        if let bar {
            table.add("  a core", Double(users) / core, atLeast: bar, unit: "/s")
        } else {
            table.add("  a core", Double(users) / core, unit: "/s")
        }
        table.add("  bytes in use that were added", grown, atMost: 8, unit: "MB")
    }

    static func serve(_ client: ExperimentationClient, _ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<128 {
                group.addTask {
                    for number in stride(from: lane, to: count, by: 128) { try await serve(client, user: number) }
                }
            }
            try await group.waitForAll()
        }
    }

    static func serve(_ client: ExperimentationClient, user number: Int) async throws {
        let user = User(id: "user-\(number)", attributes: ["vip": .bool(number % 2 == 0)], consent: .granted)
        let session = client.session(for: user)
        try await session.refresh()
        for flag in 0..<5 { consume(session.string("flag-\(flag)", default: "")) }
        for event in 0..<3 {
            try await session.track(.custom("spun-wheel", value: Double(event), attributes: ["colour": "red"]))
        }
    }

    static func measured(_ body: () async throws -> Void) async throws -> (wall: Double, core: Double) {
        let (start, before) = (ContinuousClock.now, ownSeconds())
        try await body()
        return ((ContinuousClock.now - start).nanoseconds / 1e9, ownSeconds() - before)
    }
}

/// A vendor that computes decisions or is asked for them, and whose events wait.
struct Fleet: ExperimentationProvider, EventSink, DecisionSource, RulesetSource, Ruleset {
    let name = "bench"
    let scope = ""
    let capabilities: Set<Capability> = [.flags, .tracking]
    let batching = BatchPolicy(count: 100, largest: 100, interval: .seconds(1))
    let freshness = Freshness()
    var isComputed: Bool
    let catalogue = FlagCatalogue(
        flags: (0..<9).map { number in
            FlagCatalogue.Flag(
                "flag-\(number)",
                outcomes: ["red", "blue"].map { Resolution(.string($0), variant: $0, reason: .split) }
            )
        }
    )

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: isComputed ? .computed(self) : .asked(self), events: self)
    }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {}
    func deliver(_ batch: [Envelope]) async -> DeliveryReport { DeliveryReport(.delivered) }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        validator == nil ? .replaced(self, validator: "1", raw: [0]) : .unchanged
    }
    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset { self }
    func decisions(for context: EvaluationContext) -> Decisions {
        let choice = context.user.attributes["vip"] == .bool(true) ? 1 : 0
        return Decisions(catalogue: catalogue, outcomes: Array(repeating: choice, count: 9))
    }
    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? { 0 }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        // A separate answer for each user, as a vendor sends them.
        let flags = (0..<9).map { number in
            ("flag-\(number)", Resolution(.string("red"), variant: "red", reason: .split))
        }
        return .decided(Decisions(flags: flags))
    }
}
