#if os(Linux)
    import Experimentation
    import ExperimentationSQLite
    import Foundation
    import Glibc
    import Testing

    /// What children do; as a test of the parent they do nothing.
    @Suite("ChildParts")
    struct ChildParts {
        @Test("ChildParts accepts until it is killed")
        func accepts() async throws {
            guard let words = ChildProcess.arguments(of: "accepts") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 10_000_000, maximumBytes: 1 << 32)
            )
            let acknowledged = try LineFile(words[1])
            let round = words[2]
            await withTaskGroup { group in
                for caller in 0..<4 {
                    group.addTask {
                        var number = 0
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

        @Test("ChildParts accepts a number and delivers until it is killed")
        func delivers() async throws {
            guard let words = ChildProcess.arguments(of: "delivers") else { return }
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
            // With nothing to add it is there to finish.
            if words[4] == "0" {
                while try await !client.flush(within: .seconds(5)) {}
            } else {
                try await Task.sleep(for: .seconds(60))
            }
        }

        @Test("ChildParts leases everything and hangs")
        func hangs() async throws {
            guard let words = ChildProcess.arguments(of: "hangs") else { return }
            let store = try SQLiteStore(at: URL(fileURLWithPath: words[0]))
            let acknowledged = try LineFile(words[1])
            let lease = try await store.take(owner: Int64(getpid()), at: Date(), for: 1)
            for id in lease?.ids ?? [] { acknowledged.add(id) }
            acknowledged.add("done")
            try await Task.sleep(for: .seconds(60))
        }

        @Test("ChildParts accepts a number beside others")
        func shares() async throws {
            guard let words = ChildProcess.arguments(of: "shares") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 1_000_000)
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

        @Test("ChildParts delivers what others accept")
        func drains() async throws {
            guard let words = ChildProcess.arguments(of: "drains") else { return }
            let store = try SQLiteStore(
                at: URL(fileURLWithPath: words[0]),
                limits: StoreLimits(maximumCount: 1_000_000)
            )
            let notes = try LineFile(words[1])
            do {
                while !FileManager.default.fileExists(atPath: words[2]) {
                    guard let lease = try await store.take(100, owner: Int64(getpid()), at: Date()) else {
                        try await Task.sleep(for: .milliseconds(2))
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

    /// A vendor that writes down what it gets before it says so.
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
            try? await Task.sleep(for: delay)
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
