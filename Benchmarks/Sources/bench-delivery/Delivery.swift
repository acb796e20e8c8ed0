import AdapterKit
import BenchmarkHarness
@_spi(StoredForm) import Experimentation
import ExperimentationSQLite
import Foundation
import HTTPTypes

/// A vendor that discards its events, or sends them to a server that answers at once.
struct Vendor: ExperimentationProvider, EventSink {
    let name = "bench"
    let scope = ""
    let capabilities: Set<Capability> = [.tracking]
    var batching = BatchPolicy(count: 100, largest: 100, interval: .seconds(1))
    var post: (@Sendable ([Envelope]) async -> Bool)?

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self)
    }
    func check(_ event: TrackingEvent) throws(ExperimentationError) {}
    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let isTaken = await post?(batch) ?? true
        return DeliveryReport(isTaken ? .delivered : .outage())
    }
}

@main
struct Delivery {
    static let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-delivery-\(getpid())")

    static func file() -> URL { folder.appendingPathComponent(UUID().uuidString + ".sqlite") }

    /// The destination of these benchmarks' events.
    static let there = Vendor().destination

    static func envelope(_ number: Int, user: String = "user-1") -> Envelope {
        Envelope(
            id: UUID().uuidString,
            identity: Identity(id: user),
            session: "6E1B8F0A-3A5D-4E63-9F5C-0C8E6B3F2A11",
            event: .custom("spun-wheel", value: Double(number), attributes: ["colour": "red", "turns": 3]),
            date: Date()
        )
    }

    static func main() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var table = Table("Delivery (rates in events a second; ratios within this run)")
        // Arguments select parts.
        let parts = Set(CommandLine.arguments.dropFirst())
        func isWanted(_ part: String) -> Bool { parts.isEmpty || parts.contains(part) }
        if isWanted("accepting") { try await accepting(&table) }
        // Part of accepting; runs separately only on request.
        if parts.contains("together") { try await together(&table, .powerLoss, named: parts.compactMap { Int($0) }) }
        if isWanted("beside") { try await besideDelivery(&table) }
        if isWanted("draining") { try await draining(&table) }
        if isWanted("settling") { try await settling(&table) }
        if isWanted("denying") { try await denying(&table) }
        if isWanted("memory") { try await InMemory.measure(&table) }
        if isWanted("destinations") { try await Destinations.measure(&table) }
        if isWanted("offline") { try await offline(&table) }
        if table.missedBars > 0 {
            print("\n\(table.missedBars) bars missed")
            try? FileManager.default.removeItem(at: folder)
            exit(1)
        }
    }

    // MARK: Accepting

    static func accepting(_ table: inout Table) async throws {
        let body = try envelope(1).stored()
        for durability in Durability.allCases {
            let isQuick = durability == .process
            let count = isQuick ? 20_000 : 3_000
            // The best of three interleaved rounds: other load on the machine affects both alike.
            var bare = 0.0
            var both = 0.0
            var stored = 0.0
            var tracked = 0.0
            for _ in 0..<3 {
                let database = BareSQLite(path: file().path, synchronous: isQuick ? 1 : 2)
                bare = max(bare, rate(count) { for _ in 0..<count { database.add(body) } })
                let pair = BareSQLite(path: file().path, synchronous: isQuick ? 1 : 2)
                both = max(both, rate(count) { for _ in 0..<count { pair.addBoth(body) } })
                let limits = StoreLimits(maximumCount: 1_000_000)
                let store = try SQLiteStore(at: file(), options: .init(durability: durability, limits: limits))
                // Created in advance, like the bare insert's body; `tracking` includes the creation.
                let events = (0..<count).map { NewEvent(envelope($0), to: there) }
                stored = max(
                    stored,
                    try await rate(count) { for event in events { _ = try await store.append([event], now: Date()) } }
                )
                await store.close()
                tracked = max(tracked, try await tracking(callers: 1, each: count, durability))
            }
            let what = isQuick ? "survives the process" : "survives power loss"
            table.add("bare insert, \(what)", bare, unit: "/s")
            table.add("bare insert of event and delivery", both, unit: "/s")
            table.add("store, one caller", stored, unit: "/s")
            table.add("track, one caller", tracked, unit: "/s")
            table.add("store, one caller / bare insert", stored / bare, atLeast: 0.5, unit: "×")
            table.add("track, one caller / bare insert", tracked / bare, atLeast: 0.5, unit: "×")
            table.add("store, one caller / bare insert of both rows", stored / both, atLeast: 0.75, unit: "×")
            if isQuick { continue }
            try await together(&table, durability)
        }
    }

    /// Several callers against one, interleaved, with a ratio per round, because the disk's speed varies over time.
    ///
    /// If numbers of callers are given, measures only those.
    static func together(_ table: inout Table, _ durability: Durability, named: [Int] = []) async throws {
        var rounds: [Int: [(rate: Double, ratio: Double)]] = [:]
        let bars = [(8, 4.0), (64, 15.0)].filter { named.isEmpty || named.contains($0.0) }
        for _ in 0..<5 {
            let alone = try await tracking(callers: 1, each: 3_000, durability)
            for (callers, _) in bars {
                let rate = try await tracking(callers: callers, each: 20_000 / callers, durability)
                rounds[callers, default: []].append((rate, rate / alone))
            }
        }
        for (callers, bar) in bars {
            let some = (rounds[callers] ?? []).sorted { $0.ratio < $1.ratio }
            let middle = some[some.count / 2]
            table.add("track, \(callers) callers", middle.rate, unit: "/s")
            table.add("track, \(callers) callers / one, median of five", middle.ratio, atLeast: bar, unit: "×")
        }
    }

    static func tracking(callers: Int, each: Int, _ durability: Durability) async throws -> Double {
        let client = try await ExperimentationClient(
            provider: Vendor(),
            store: .sqlite(
                at: file(),
                options: .init(durability: durability, limits: StoreLimits(maximumCount: 1_000_000))
            )
        )
        await client.setConnectivity(.offline)
        let result = try await rate(callers * each) {
            try await withThrowingTaskGroup { group in
                for caller in 0..<callers {
                    let session = client.session(for: User(id: "user-\(caller)"))
                    group.addTask {
                        for number in 0..<each {
                            try await session.track(
                                .custom("spun-wheel", value: Double(number), attributes: ["colour": "red", "turns": 3])
                            )
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        await client.shutdown(within: .zero)
        return result
    }

    static func besideDelivery(_ table: inout Table) async throws {
        for durability in Durability.allCases { try await besideDelivery(&table, durability) }
    }

    static func besideDelivery(_ table: inout Table, _ durability: Durability) async throws {
        let collector = Collector()
        let client = try await ExperimentationClient(
            provider: Vendor(post: poster(collector.port)),
            store: .sqlite(
                at: file(),
                options: .init(durability: durability, limits: StoreLimits(maximumCount: 1_000_000))
            )
        )
        var latencies: [Double] = []
        try await withThrowingTaskGroup { group in
            for caller in 0..<4 {
                let session = client.session(for: User(id: "user-\(caller)"))
                group.addTask {
                    var latencies: [Double] = []
                    for number in 0..<5_000 {
                        let start = ContinuousClock.now
                        try await session.track(.custom("spun-wheel", value: Double(number)))
                        latencies.append((ContinuousClock.now - start).nanoseconds / 1e6)
                        // At an application's rate of hundreds per second, not at full speed.
                        if number % 10 == 9 { try await Task.sleep(for: .milliseconds(5)) }
                    }
                    return latencies
                }
            }
            for try await some in group { latencies += some }
        }
        let (half, slow) = (percentile(50, of: latencies), percentile(99, of: latencies))
        switch durability {
        case .process: table.add("accepting while delivering, p50", half, atMost: 0.2, unit: "ms")
        case .powerLoss: table.add("the same, survives power loss, p50", half, unit: "ms")
        }
        table.add("p99", slow, atMost: 5, unit: "ms")
        _ = try await client.flush()
        let ledger = try await client.ledger()
        precondition(ledger.isBalanced && ledger.accepted == 20_000)
        await client.shutdown()
    }

    // MARK: Delivering

    static func poster(_ port: UInt16) -> @Sendable ([Envelope]) async -> Bool {
        let transport = DefaultTransport.make()
        let request = HTTPRequest(
            method: .post,
            scheme: "http",
            authority: "127.0.0.1:\(port)",
            path: "/events",
            headerFields: [.contentType: "application/json"]
        )
        return { batch in
            var body: [UInt8] = [0x5B]
            for envelope in batch {
                if body.count > 1 { body.append(0x2C) }
                guard let event = try? envelope.stored() else { return false }
                body += event
            }
            body.append(0x5D)
            let reply = try? await transport.send(request, body: body, limits: HTTPLimits())
            return reply?.status == 200
        }
    }

    static func draining(_ table: inout Table) async throws {
        let total = 100_000
        let collector = Collector()
        let post = poster(collector.port)
        let envelopes = (0..<total).map { envelope($0, user: "user-\($0 % 50)") }
        // Nine interleaved rounds, each with its own ratio: the placement of threads changes both rates by a half.
        var rounds: [(plain: Double, drained: Double)] = []
        var seconds: [(plain: Double, drained: Double)] = []
        for _ in 0..<9 {
            let began = ownSeconds()
            let plain = await rate(total) {
                for start in stride(from: 0, to: total, by: 100) {
                    let isTaken = await post(Array(envelopes[start..<(start + 100)]))
                    precondition(isTaken)
                }
            }
            let ended = ownSeconds()
            let drained = try await drained(envelopes, post)
            rounds.append((plain, drained.rate))
            seconds.append((ended - began, drained.seconds))
        }
        rounds.sort { $0.drained / $0.plain < $1.drained / $1.plain }
        let (plain, drained) = rounds[rounds.count / 2]
        table.add("posting 100,000, no store", plain, unit: "/s")
        table.add("draining 100,000", drained, unit: "/s")
        table.add("draining / posting, median of nine", drained / plain, atLeast: 0.6, unit: "×")
        for (name, round) in [("least", rounds[0]), ("most", rounds[rounds.count - 1])] {
            table.add("draining / posting, \(name) of nine", round.drained / round.plain, unit: "×")
        }
        let ratios = seconds.map { $0.plain / $0.drained }.sorted()
        table.add("processor's time, posting / draining", ratios[4], unit: "×")
    }

    /// Delivers to a vendor that answers at once, which shows the cost of the store and the engine.
    static func settling(_ table: inout Table) async throws {
        let envelopes = (0..<100_000).map { envelope($0, user: "user-\($0 % 50)") }
        var rounds: [(rate: Double, seconds: Double)] = []
        for _ in 0..<9 { rounds.append(try await drained(envelopes, nil)) }
        table.add("draining 100,000, no posting, median of nine", rounds.map(\.rate).sorted()[4], unit: "/s")
        table.add("processor's time for 100 of them", rounds.map(\.seconds).sorted()[4] * 1_000, unit: "µs")
    }

    static func drained(
        _ envelopes: [Envelope],
        _ post: (@Sendable ([Envelope]) async -> Bool)?
    ) async throws -> (rate: Double, seconds: Double) {
        let total = envelopes.count
        let store = try SQLiteStore(
            at: file(),
            options: .init(limits: StoreLimits(maximumCount: total, maximumBytes: 100_000_000))
        )
        for start in stride(from: 0, to: total, by: 500) {
            let events = envelopes[start..<(start + 500)].map { NewEvent($0, to: there) }
            _ = try await store.append(events, now: Date())
        }
        let start = ContinuousClock.now
        let began = ownSeconds()
        let client = try await ExperimentationClient(
            provider: Vendor(post: post),
            store: ClientStore(outbox: store, state: store)
        )
        while try await !client.flush().isDone {}
        let drained = Double(total) / ((ContinuousClock.now - start).nanoseconds / 1e9)
        let seconds = ownSeconds() - began
        let ledger = try await client.ledger()
        precondition(ledger == Ledger(accepted: total, delivered: total))
        await client.shutdown()
        await store.close()
        return (drained, seconds)
    }

    // MARK: Denying consent

    /// Measures users with ten waiting events each, who deny consent concurrently or one after another.
    static func denying(_ table: inout Table) async throws {
        var together = 0.0
        var alone = 0.0
        for _ in 0..<3 {
            let client = try await ExperimentationClient(
                provider: Vendor(),
                store: .sqlite(at: file(), options: .init(limits: StoreLimits(maximumCount: 100_000)))
            )
            await client.setConnectivity(.offline)
            let sessions = (0..<1_100).map { client.session(for: User(id: "user-\($0)", consent: .granted)) }
            for number in 0..<10 {
                for session in sessions { try await session.track(.custom("spun-wheel", value: Double(number))) }
            }
            together = max(
                together,
                try await rate(1_000) {
                    try await withThrowingTaskGroup { group in
                        for session in sessions[..<1_000] { group.addTask { try await session.setConsent(.denied) } }
                        try await group.waitForAll()
                    }
                }
            )
            let one = try await rate(100) {
                for session in sessions[1_000...] { try await session.setConsent(.denied) }
            }
            alone = max(alone, one)
            let ledger = try await client.ledger()
            precondition(ledger.purged == 11_000 && ledger.isBalanced)
            await client.shutdown(within: .zero)
        }
        table.add("denials of 1,000 users at once", together, atLeast: 10_000, unit: "/s")
        table.add("denial of one user", 1_000 / alone, atMost: 2, unit: "ms")
    }

    // MARK: Offline

    static func offline(_ table: inout Table) async throws {
        let total = 1_000_000
        // The limit on bytes applies, since a million of these events take ten times as many.
        let limits = StoreLimits(maximumCount: 10_000_000)
        let url = file()
        let client = try await ExperimentationClient(
            provider: Vendor(),
            store: .sqlite(at: url, options: .init(limits: limits)),
            environment: ClientEnvironment()
        )
        await client.setConnectivity(.offline)
        let session = client.session(for: User(id: "user-1"))
        for number in 0..<1_000 { try await session.track(.custom("warm", value: Double(number))) }
        let before = residentMegabytes()
        var most = before
        for number in 1_000..<total {
            try await session.track(.custom("spun-wheel", value: Double(number), attributes: ["colour": "red"]))
            if number % 50_000 == 0 { most = max(most, residentMegabytes()) }
        }
        most = max(most, residentMegabytes())
        let ledger = try await client.ledger()
        table.add("1,000,000 offline: memory growth", most - before, atMost: 64, unit: "MB")
        var size = 0
        for ending in ["", "-wal", "-reserve"] {
            size += (try? FileManager.default.attributesOfItem(atPath: url.path + ending)[.size] as? Int) ?? 0
        }
        table.add("1,000,000 offline: files / cap", Double(size) / Double(limits.maximumBytes), atMost: 1.5, unit: "×")
        table.add(
            "1,000,000 offline: drops counted / expected",
            Double(ledger.dropped[.overflow, default: 0]) / Double(total - ledger.pending),
            atMost: ledger.isBalanced && ledger.accepted == total && ledger.pending > 10_000 ? 1 : 0,
            unit: "×"
        )
        await client.shutdown(within: .zero)
    }

    static func residentMegabytes() -> Double {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8),
            let pages = Double(text.split(separator: " ")[1])
        else { return 0 }
        return pages * 4_096 / 1_048_576
    }

    // MARK: Rates

    static func rate(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return Double(count) / ((ContinuousClock.now - start).nanoseconds / 1e9)
    }

    static func rate(_ count: Int, _ body: () -> Void) -> Double {
        let start = ContinuousClock.now
        body()
        return Double(count) / ((ContinuousClock.now - start).nanoseconds / 1e9)
    }
}
