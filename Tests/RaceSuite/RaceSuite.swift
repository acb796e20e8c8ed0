import AdapterKit
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import HTTPTypes
import RaceLocks
import Synchronization

/// Uses everything that tasks share from many tasks at once, under the thread sanitizer.
///
/// Runs alone and in long loops, because a short race next to other work is easily missed. Suppresses nothing. With
/// `--planted`, it commits a race on purpose, next to a lock that another task takes; unless the sanitizer reports it,
/// silence about the rest means nothing.
@main
enum RaceSuite {
    static let tasks = 8

    static func main() async throws {
        switch CommandLine.arguments.last {
        case "race": return await plantedRace()
        case "lock": return await plantedBesideLock()
        default: break
        }
        print("races: built for the sanitizer: \(race_locks_are_seen())")
        await locking()
        await continuing()
        try await reading()
        try await sending()
        try await delivering(store: .inMemory(), each: 2_000)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("races-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await delivering(store: .sqlite(at: folder.appendingPathComponent("events.sqlite")), each: 400)
        print("races: done")
    }

    /// Reads with hooks and exposures while decisions are swapped, users change and hooks are added.
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

    /// Sends requests without an answer, cancels some of them, and closes the engine during others.
    static func sending() async throws {
        let request = try Endpoint("http://127.0.0.1:1").request(.get, path: ["nobody"])
        for _ in 0..<4 {
            let transport = DefaultTransport.make()
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<tasks {
                    group.addTask {
                        for index in 0..<60 {
                            let limits = HTTPLimits(deadline: .milliseconds(1 + (index * 7 + number) % 40))
                            _ = try? await transport.send(request, body: [], limits: limits)
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<60 {
                        let task = Task { try await transport.send(request, body: [], limits: HTTPLimits()) }
                        await Task.yield()
                        task.cancel()
                        _ = try? await task.value
                    }
                }
            }
        }
    }

    /// Tracks from many tasks while deliveries fail and succeed, and consent and connectivity change.
    static func delivering(store: ClientStore, each: Int) async throws {
        let provider = InMemoryProvider(batching: BatchPolicy(count: 5, interval: .milliseconds(5)))
        provider.setVerdict { $0.sequence % 3 == 0 && $0.attempts == 0 ? .failed("once") : .delivered }
        let client = try await ExperimentationClient(provider: provider, store: store)
        let sessions = (0..<2 * tasks).map { client.session(for: User(id: "user \($0)", consent: .granted)) }
        await withTaskGroup(of: Void.self) { group in
            for session in sessions {
                group.addTask {
                    for index in 0..<each { try? await session.track(.custom("event \(index)")) }
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
        for _ in 0..<50 where try await !client.flush(within: .seconds(5)).isDone { continue }
        let ledger = try await client.ledger()
        guard ledger.isBalanced else {
            print("races: the accounts don't balance: \(ledger)")
            exit(2)
        }
        await client.shutdown()
    }

    /// Counts under one contended lock; reported as a race if the sanitizer doesn't recognize the lock.
    static func locking() async {
        final class Counter: Sendable { let count = Mutex(0) }
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks { group.addTask { for _ in 0..<50_000 { counter.count.withLock { $0 += 1 } } } }
        }
        guard counter.count.withLock({ $0 }) == tasks * 50_000 else {
            print("races: the lock doesn't keep tasks apart")
            exit(2)
        }
    }

    /// Resumes continuations on other threads, before or while they are awaited; reported as a race if the sanitizer
    /// doesn't recognize that a result is written before it is read.
    static func continuing() async {
        final class Flag: Sendable { let isRaised = Atomic(false) }
        for number in 0..<2_000 {
            let flag = Flag()
            let numbers: [Int] = await withUnsafeContinuation { continuation in
                Thread.detachNewThread {
                    continuation.resume(returning: Array(repeating: number, count: 4))
                    flag.isRaised.store(true, ordering: .relaxed)
                }
                guard number % 2 == 0 else { return }
                // Relaxed: any other order would hide the race from the sanitizer.
                for _ in 0..<1_000_000_000 where flag.isRaised.load(ordering: .relaxed) { return }
            }
            guard numbers == Array(repeating: number, count: 4) else {
                print("races: a continuation returned another's result")
                exit(2)
            }
        }
    }

    /// A race that the sanitizer must report.
    static func plantedRace() async {
        nonisolated(unsafe) var shared = 0
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    meet()
                    for _ in 0..<200_000 { shared &+= 1 }
                }
            }
        }
        print("planted: \(shared)")
    }

    private static let begun = Atomic(0)

    /// Waits until two tasks have begun: on a busy machine, one thread may run all of them in turn, without any race.
    ///
    /// The order is relaxed, because any other one would hide the race from the sanitizer.
    private static func meet() {
        begun.add(1, ordering: .relaxed)
        for _ in 0..<1_000_000_000 where begun.load(ordering: .relaxed) >= 2 { return }
    }

    /// A race that the sanitizer must report although locks are taken constantly: each task has its own.
    static func plantedBesideLock() async {
        nonisolated(unsafe) var shared = 0
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    let own = Mutex(0)
                    meet()
                    for _ in 0..<200_000 {
                        own.withLock { own in
                            own &+= 1
                            shared &+= 1
                        }
                    }
                }
            }
        }
        print("planted: \(shared)")
    }
}
