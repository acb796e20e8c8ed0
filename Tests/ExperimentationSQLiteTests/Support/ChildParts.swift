#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import ExperimentationTesting
    import Foundation
    import Glibc
    import Testing
    import Waiting

    /// The entry point of child processes; each part is a function.
    @Suite("ChildParts")
    struct ChildParts {
        @Test("a child plays its part", .enabled(if: ChildPart.played != nil, "runs in a child alone"))
        func play() async throws {
            let part = try #require(ChildPart.played)
            let parts: [String: ([String]) async throws -> Void] = [
                "accepts": accepts, "tracks": tracks, "delivers": delivers, "hangs": hangs, "shares": shares,
                "drains": drains,
                "fills": fills, "withoutReserve": withoutReserve, "looks": looks, "limited": limited,
                "locks": locks, "denies": denies, "hangsAtSecond": hangsAtSecond, "exposes": exposes,
                "opensWithin": opensWithin, "failsToCommit": failsToCommit,
            ]
            let body = try #require(parts[part.name], "there is no part \(part.name)")
            try await body(part.words)
        }

        /// Accepts events until it is killed.
        func accepts(_ words: [String]) async throws {
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                options: .init(limits: StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32))
            )
            let acknowledged = try LineFile(words[1])
            let round = words[2]
            await withTaskGroup { group in
                for caller in 0..<4 {
                    group.addTask {
                        var number = 0
                        // Until it is killed or the store fails.
                        while true {
                            let id = "\(round)-\(caller)-\(number)"
                            do { try await store.append([.sample(id, user: "u\(caller)")]) } catch { return }
                            acknowledged.add(id)
                            number += 1
                        }
                    }
                }
            }
        }

        /// Tracks for many callers at once until it is killed; each commit waits for the disk.
        func tracks(_ words: [String]) async throws {
            let provider = InMemoryProvider(needsConsent: false)
            // Keeps the events of earlier rounds in the store for inspection.
            provider.setVerdict { _ in .outage() }
            let client = try await ExperimentationClient(
                provider: provider,
                store: .sqlite(
                    at: URL(fileURLWithPath: words[0]),
                    options: .init(durability: .powerLoss, limits: StoreLimits(maximumCount: 10_000_000))
                )
            )
            let acknowledged = try LineFile(words[1])
            await withTaskGroup { group in
                for caller in 0..<40 {
                    let session = client.session(for: User(id: "u\(caller)"))
                    group.addTask {
                        // Until it is killed or the store fails.
                        for number in 0... {
                            let id = "\(words[2])-\(caller)-\(number)"
                            do { try await session.track(.custom(id)) } catch { return }
                            acknowledged.add(id)
                        }
                    }
                }
            }
        }

        /// Accepts a number of events and delivers until it is killed; with zero events, until none waits.
        func delivers(_ words: [String]) async throws {
            let vendor = RecordingVendor(
                try LineFile(words[1]),
                batches: try LineFile(words[1] + "-batches"),
                round: words[5],
                delay: .milliseconds(Int(words[3]) ?? 0)
            )
            let client = try await ExperimentationClient(
                provider: vendor,
                store: .sqlite(at: URL(fileURLWithPath: words[0]))
            )
            let acknowledged = try LineFile(words[2])
            for number in 0..<(Int(words[4]) ?? 0) {
                let session = client.session(for: User(id: "u\(number % 5)"))
                let id = "\(words[5])-\(number)"
                try await session.track(.custom(id))
                acknowledged.add(id)
            }
            // With zero events, it only empties the outbox.
            guard words[4] == "0" else { return await ChildPart.untilKilled() }
            try await eventually("an empty outbox") { try await client.flush(within: .seconds(5)).isDone }
        }

        /// Exposes users to an experiment until it is killed, alternately by a read and manually.
        func exposes(_ words: [String]) async throws {
            let arm = InMemoryExperiment.Arm(Variation(id: "green"), weight: 100, flags: ["color": "green"])
            let provider = InMemoryProvider(experiments: [InMemoryExperiment(Experiment(id: "checkout"), arms: [arm])])
            // Keeps the events of earlier rounds in the store for inspection.
            provider.setVerdict { _ in .outage() }
            let client = try await ExperimentationClient(
                provider: provider,
                store: .sqlite(at: URL(fileURLWithPath: words[0]))
            )
            let stored = try LineFile(words[1])
            for number in 0... {
                let id = "\(words[2])-\(number)"
                let session = client.session(for: User(id: id, consent: .granted))
                try await session.refresh()
                if number.isMultiple(of: 2) {
                    #expect(session.string("color", default: "grey") == "green")
                } else {
                    try session.expose("checkout")
                }
                try await client.untilStored()
                stored.add(id)
            }
        }

        /// Leases everything and never settles.
        func hangs(_ words: [String]) async throws {
            let store = try SQLiteStore(at: URL(fileURLWithPath: words[0]))
            let acknowledged = try LineFile(words[1])
            let lease = try await store.take(owner: Int64(getpid()), at: Date(), for: 1)
            for id in lease?.ids ?? [] { acknowledged.add(id) }
            acknowledged.add("done")
            await ChildPart.untilKilled()
        }

        /// Accepts a number of events concurrently with other processes.
        func shares(_ words: [String]) async throws {
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                options: .init(limits: StoreLimits(maximumCount: 1_000_000))
            )
            let notes = try LineFile(words[1])
            do {
                for number in 0..<(Int(words[2]) ?? 0) {
                    let id = "\(words[3])-\(number)"
                    try await store.append([.sample(id, user: words[3])])
                    notes.add(id)
                }
            } catch {
                notes.add("error \(error)")
            }
            await store.close()
        }

        /// Delivers events that other processes accept.
        func drains(_ words: [String]) async throws {
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                options: .init(limits: StoreLimits(maximumCount: 1_000_000))
            )
            let notes = try LineFile(words[1])
            do {
                while !FileManager.default.fileExists(atPath: words[2]) {
                    guard let lease = try await store.take(100, owner: Int64(getpid()), at: Date()) else {
                        try await pause(.milliseconds(2))
                        continue
                    }
                    for id in lease.ids { notes.add(id) }
                    if try await !store.settle(lease, at: Date()) { notes.add("error lost") }
                    try await store.release(lease.token, pause: nil, now: Date())
                }
            } catch {
                notes.add("error \(error)")
            }
            await store.close()
        }
    }

    /// A vendor that writes down what it receives before it answers.
    struct RecordingVendor: ExperimentationProvider, EventSink {
        let name = "recording"
        let scope = ""
        let capabilities: Set<Capability> = [.tracking]
        let batching = BatchPolicy(count: 5, largest: 20, interval: .milliseconds(5))
        let received: LineFile
        let batches: LineFile?
        let round: String
        let delay: Duration

        init(_ received: LineFile, batches: LineFile? = nil, round: String = "", delay: Duration) {
            self.received = received
            self.batches = batches
            self.round = round
            self.delay = delay
        }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            ProviderRoles(events: self)
        }
        func check(_ event: TrackingEvent) throws(ExperimentationError) {}

        func deliver(_ batch: [Envelope]) async -> DeliveryReport {
            try? await pause(delay)
            batches?.add(([round] + batch.map(\.id)).joined(separator: "\t"))
            for envelope in batch {
                if case .custom(let name, _) = envelope.event.kind {
                    received.add("\(name)\t\(envelope.id)\t\(envelope.date.timeIntervalSince1970)")
                }
            }
            return DeliveryReport(.delivered)
        }
    }
#endif
