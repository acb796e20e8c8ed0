import BenchmarkHarness
import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization

/// Measures flag reads.
@main
enum Reading {
    static let flagCount = 1_000
    static let operations = 200_000

    /// Keys of 31 to 33 bytes, too long for small strings.
    static let keys = (0..<flagCount).map { "checkout.experiment.flag-number-" + String(format: "%d", $0) }

    static func main() async throws {
        let flags = keys.enumerated().map { index, key in
            InMemoryFlag(key, variants: ["on": .bool(index % 2 == 0), "off": false], defaultVariant: "on")
        }
        // One flag in ten belongs to an experiment whose exposure was recorded.
        let experiments = stride(from: 0, to: flagCount, by: 10).map { index in
            InMemoryExperiment(
                Experiment(id: "e\(index)"),
                arms: [.init(Variation(id: "b"), weight: 100, flags: [keys[index]: true])]
            )
        }
        let provider = InMemoryProvider(flags: flags, experiments: experiments, needsConsent: false)
        let client = try await ExperimentationClient(provider: provider)
        let user = User(id: "user-1", consent: .granted)
        let session = client.session(for: user)
        try await session.refresh()
        for key in keys { _ = session.bool(key, default: false) }
        try await client.flush()

        let hooked = try await ExperimentationClient(
            provider: provider,
            options: ClientOptions(hooks: [QuietHook(), QuietHook()])
        )
        let hookedSession = hooked.session(for: user)
        try await hookedSession.refresh()
        for key in keys { _ = hookedSession.bool(key, default: false) }
        try await hooked.flush()

        if CommandLine.arguments.contains("--only-stateless") {
            // For use with a profiler.
            for index in 0..<20_000_000 { consume(client.bool(keys[(index % 9) + 1], default: false, for: user)) }
            return
        }

        var table = Table("Reading one of \(flagCount) flags")
        let dictionary = Dictionary(uniqueKeysWithValues: keys.map { ($0, FlagValue.bool(true)) })
        let bare = Cost.of(operations) { count in
            for index in 0..<count { consume(dictionary[keys[index % flagCount]]) }
        }
        table.add("a bare dictionary", bare.nanoseconds, unit: "ns")
        let bool = Cost.of(operations) { count in
            for index in 0..<count { consume(session.bool(keys[index % flagCount], default: false)) }
        }
        add(&table, "session.bool", bool, atMost: 80)
        let typed = keys.map { FlagKey($0, default: false) }
        let byKey = Cost.of(operations) { count in
            for index in 0..<count { consume(session[typed[index % flagCount]]) }
        }
        add(&table, "session[key]", byKey, atMost: 80)
        table.add("session[key] / session.bool", byKey.nanoseconds / bool.nanoseconds, atMost: 1.05, unit: "×")
        let details = Cost.of(operations) { count in
            for index in 0..<count { consume(session.details(keys[index % flagCount], default: false).value) }
        }
        add(&table, "session.details", details, atMost: 120)
        table.add("session.details / bare dictionary", details.nanoseconds / bare.nanoseconds, atMost: 3.5, unit: "×")
        let withHooks = Cost.of(operations) { count in
            for index in 0..<count { consume(hookedSession.details(keys[index % flagCount], default: false).value) }
        }
        add(&table, "session.details with two hooks", withHooks, atMost: 300)
        let missing = Cost.of(operations) { count in
            for _ in 0..<count { consume(session.bool("a.flag.that.does.not.exist.at.all", default: false)) }
        }
        add(&table, "a flag that doesn't exist (bool)", missing, atMost: bool.nanoseconds)
        let missingDetails = Cost.of(operations) { count in
            for _ in 0..<count { consume(session.details("a.flag.that.does.not.exist.at.all", default: false).value) }
        }
        add(&table, "a flag that doesn't exist (details)", missingDetails, atMost: details.nanoseconds)
        let stateless = Cost.of(operations) { count in
            for index in 0..<count { consume(client.bool(keys[(index % 9) + 1], default: false, for: user)) }
        }
        add(&table, "client.bool for a user, computed", stateless, atMost: 150)

        threads(session, &table)
        // Sticky assignments belong to the user, not to the session, and are kept in the store.
        let light = InMemoryProvider(
            flags: flags,
            experiments: experiments,
            needsConsent: false,
            capabilities: Set(Capability.all).subtracting([.stickyAssignments])
        )
        let lightClient = try await ExperimentationClient(provider: light)
        sizes(lightClient, user, &table)
        await client.shutdown()
        await hooked.shutdown()
        if table.missedBars > 0 { print("\n\(table.missedBars) bars missed") }
    }

    static func add(_ table: inout Table, _ name: String, _ measurement: Cost, atMost bar: Double) {
        table.add(name, measurement.nanoseconds, atMost: bar, unit: "ns")
        table.add("  allocations", measurement.allocations, atMost: 0, unit: "")
    }

    /// Two threads on one session, compared with one thread and the same number of reads.
    static func threads(_ session: UserSession, _ table: inout Table) {
        // How much the machine currently gains from two threads at all; other load reduces this figure, too.
        let control = (0..<7).map { _ in spin(2, 20_000_000) / spin(1, 40_000_000) }.sorted()[3]
        table.add("two threads / one, a loop that reads nothing", control, unit: "×")
        for (name, bar, rotates) in [("rotating keys", 0.7, true), ("one key", 1.1, false)] {
            for (kind, isDetailed) in [("bool", false), ("details", true)] {
                let ratio = (0..<7).map { _ -> Double in
                    let one = wall(1, session, rotates, isDetailed, 2_000_000)
                    let two = wall(2, session, rotates, isDetailed, 1_000_000)
                    return two / one
                }.sorted()[3]
                table.add("two threads / one, \(kind), \(name)", ratio, atMost: bar, unit: "×")
            }
        }
    }

    static func spin(_ threads: Int, _ count: Int) -> Double {
        let done = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        for number in 0..<threads {
            Thread {
                var state = UInt64(number + 1)
                for _ in 0..<count { state = state &* 6_364_136_223_846_793_005 &+ 1 }
                consume(state)
                done.signal()
            }.start()
        }
        for _ in 0..<threads { done.wait() }
        return (ContinuousClock.now - start).nanoseconds
    }

    static func wall(_ threads: Int, _ session: UserSession, _ rotates: Bool, _ isDetailed: Bool, _ count: Int)
        -> Double
    {
        let ready = DispatchSemaphore(value: 0)
        let go = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        for number in 0..<threads {
            let thread = Thread {
                // Each thread has its own strings, as separate parts of an application do.
                let keys = Self.keys.map { String(decoding: Array($0.utf8), as: UTF8.self) }
                ready.signal()
                go.wait()
                var index = number * 500
                for _ in 0..<count {
                    if rotates { index = index == flagCount - 1 ? 0 : index + 1 }
                    let key = keys[rotates ? index : 7]
                    if isDetailed {
                        consume(session.details(key, default: false).value)
                    } else {
                        consume(session.bool(key, default: false))
                    }
                }
                done.signal()
            }
            thread.start()
        }
        for _ in 0..<threads { ready.wait() }
        let start = ContinuousClock.now
        for _ in 0..<threads { go.signal() }
        for _ in 0..<threads { done.wait() }
        return (ContinuousClock.now - start).nanoseconds
    }

    static func sizes(
        _ client: ExperimentationClient,
        _ user: User,
        _ table: inout Table
    ) {
        let kept = Mutex<[UserSession]>([])
        let count = 200
        let gate = DispatchSemaphore(value: 0)
        Task {
            // A first pass, for what is created only once.
            let session = client.session(for: user)
            try? await session.refresh()
            gate.signal()
        }
        gate.wait()
        let before = residentBytes()
        Task {
            for number in 0..<count * 50 {
                let session = client.session(for: User(id: "u\(number)", consent: .granted))
                try? await session.refresh()
                kept.withLock { $0.append(session) }
            }
            gate.signal()
        }
        gate.wait()
        let bytes = Double(residentBytes() - before) / Double(count * 50)
        table.add("memory of a session over shared rules", bytes / 1_024, atMost: 3, unit: "KB")

        // A change of identity publishes a new snapshot, which makes the swap measurable from outside.
        let session = kept.withLock { $0[0] }
        let one = Identity(id: "one")
        let two = Identity(id: "two")
        let swap = Cost.of(20_000) { count in
            for index in 0..<count { session.identify(index & 1 == 0 ? one : two) }
        }
        table.add("a swap of the snapshot, with all of identify()", swap.nanoseconds, atMost: 1_000, unit: "ns")
    }

    static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4_096
    }
}

/// A hook that only looks at the evaluation, as most do.
struct QuietHook: Hook {
    func finally(_ context: HookContext, details: EvaluationDetails<FlagValue>, data: inout HookData) {
        consume(details.reason)
    }
}
