import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation

/// Uses everything that tasks share from many tasks at once, for the thread sanitizer to watch.
///
/// It runs alone, in long loops: a short race beside other busy work is easily missed. With `--planted` it commits a race on
/// purpose; the sanitizer must report that one, or its silence about the others means nothing.
@main
enum RaceSuite {
    static let tasks = 8

    static func main() async throws {
        if CommandLine.arguments.contains("--planted") {
            await planted()
            return
        }
        try await reading()
        try await delivering(store: .inMemory())
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("races-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await delivering(store: .sqlite(at: folder.appendingPathComponent("events.sqlite")))
        print("races: done")
    }

    /// Reads, with hooks and exposures, while decisions are swapped, users change and hooks are added.
    static func reading() async throws {
        func experiments(_ version: Int) -> [InMemoryExperiment] {
            (0..<4).map { number in
                InMemoryExperiment(
                    Experiment(id: "e\(number)"),
                    arms: [.init(Variation(id: "v\(version % 2)"), weight: 100, flags: ["f\(number)": .int(version)])]
                )
            }
        }
        let provider = InMemoryProvider(experiments: experiments(0), needsConsent: false)
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for index in 0..<20_000 {
                        _ = session.int("f\(index % 4)", default: -1)
                        _ = session.details("f\(index % 4)", default: -1)
                        if index % 64 == 0 { _ = client.int("f1", default: 0, for: session.user) }
                        if index % 512 == 0 { _ = session.assignments }
                    }
                }
            }
            group.addTask {
                for version in 1..<300 {
                    provider.replace(flags: [], experiments: experiments(version))
                    try? await session.refresh(force: true)
                    if version % 50 == 0 { client.addHooks(RecordingHook()) }
                    if version % 7 == 0 { session.identify(Identity(id: "user \(version)")) }
                    if version % 5 == 0 { try? session.update(["version": .int(version)]) }
                    client.attributes = ["version": .int(version)]
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    let events = client.statusEvents()
                    _ = client.status
                    for await _ in events { break }
                }
            }
        }
        await client.shutdown()
    }

    /// Tracks from many tasks while deliveries fail and succeed, consent flips, the network goes and comes.
    static func delivering(store: ClientStore) async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 5, interval: .milliseconds(5)))
        provider.setVerdict { $0.sequence % 3 == 0 && $0.attempts == 0 ? .failed("once") : .delivered }
        let client = try await ExperimentationClient(provider: provider, store: store)
        let sessions = (0..<tasks).map { client.session(for: User(id: "user \($0)", consent: .granted)) }
        await withTaskGroup(of: Void.self) { group in
            for session in sessions {
                group.addTask {
                    for index in 0..<200 { try? await session.track(.custom("event \(index)")) }
                }
            }
            group.addTask {
                for index in 0..<40 {
                    try? await sessions[0].setConsent(index % 2 == 0 ? .denied : .granted)
                    await client.setConnectivity(index % 3 == 0 ? .offline : .online)
                }
                await client.setConnectivity(.online)
            }
            group.addTask {
                for _ in 0..<20 {
                    _ = try? await client.flush(within: .milliseconds(50))
                    _ = try? await client.ledger()
                    _ = try? await client.outboxStatus()
                }
            }
        }
        for _ in 0..<50 where try await !client.flush(within: .seconds(5)) { continue }
        let ledger = try await client.ledger()
        guard ledger.isBalanced else {
            print("races: the accounts don't balance: \(ledger)")
            exit(2)
        }
        await client.shutdown()
    }

    /// A race that the sanitizer must see.
    static func planted() async {
        nonisolated(unsafe) var shared = 0
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks { group.addTask { for _ in 0..<200_000 { shared &+= 1 } } }
        }
        print("planted: \(shared)")
    }
}
