import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing
import Waiting

@Suite("A withdrawal leaves no trace")
struct TracesTests {
    private let folder = TemporaryFolder()

    @Test("P24 after a withdrawal, no file of the folder holds a trace of the user: events, decisions, assignments")
    func withdrawalLeavesNothing() async throws {
        let marker = "marker-4711@example.com"
        for seed in 0..<(isSoak ? 100 : 8) {
            var dice = SplitMix(seed: seed)
            let folder = TemporaryFolder()
            let provider = MarkingProvider()
            func open() async throws -> (ExperimentationClient, SQLiteStore) {
                let limits = StoreLimits(maximumBytes: 4_000_000)
                let stores = try await ClientStore.sqlite(in: folder.url, for: provider, options: .init(limits: limits))
                let file = try #require(stores.outbox as? SQLiteStore)
                return (try await ExperimentationClient(provider: provider, store: stores), file)
            }
            var (client, file) = try await open()
            await client.setConnectivity(.offline)
            let bob = client.session(for: User(id: "bob", consent: .granted))
            var ada = client.session(
                for: User(
                    id: marker,
                    anonymousID: "device-\(marker)",
                    attributes: ["mail": .string(marker)],
                    consent: .granted
                )
            )
            for step in 0..<60 {
                try await ada.refresh(force: true)
                try await bob.refresh(force: true)
                #expect(ada.string("greeting", default: "") == "hello \(marker)")
                let text = String(repeating: marker, count: Int.random(in: 1...80, using: &dice))
                try await ada.track(.custom("bought", attributes: ["what": .string(text)]))
                try await bob.track(.custom("bought", value: Double(step)))
            }
            if seed.isMultiple(of: 2) {
                // The withdrawal may come in a later run, without knowledge of earlier writes.
                await client.shutdown(within: .zero)
                await file.close()
                (client, file) = try await open()
                await client.setConnectivity(.offline)
                ada = client.session(for: User(id: marker, consent: .granted))
            }
            #expect(try folder.occurrences(of: marker) > 0)
            try await ada.setConsent(.denied)
            try await file.finishErasing()
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
            // Other users lose nothing.
            let status = try await client.outboxStatus()
            #expect(status.deliverable == 60)
            // In addition to the tracked events: the exposure of one read.
            let ledger = try await client.ledger()
            #expect(ledger == Ledger(accepted: 121, pending: 60, purged: 61))
            await client.shutdown(within: .zero)
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
        }
    }

    @Test("P24 a large file is rewritten as well, and events are accepted, delivered and removed as before")
    func largeFile() async throws {
        let file = folder.file("large.sqlite")
        let store = try SQLiteStore(at: file)
        let marker = "marker-4711@example.com"
        // Above 16 MB, the new file is built on disk instead of in memory.
        try await store.setValue(Array(repeating: 7, count: 17 << 20), for: "rules")
        try await store.append([.sample("1", user: marker, .custom(marker)), .sample("2", user: "bob")])
        for round in 0..<2 {
            try await store.append([.sample("3-\(round)", user: marker, .custom(marker))])
            #expect(try await store.purge(marker) > 0)
            try await store.finishErasing()
            #expect(try folder.occurrences(of: marker) == 0, "round \(round)")
            #expect(try await store.status(now: noon).deliverable == 1)
        }
        let lease = try #require(try await store.take(20))
        try await store.settle(lease) { _ in .delivered }
        #expect(try await store.ledger() == Ledger(accepted: 4, delivered: 1, purged: 3))
        #expect(try await store.value(for: "rules")?.count == 17 << 20)
        await store.close()
    }

    @Test("P24 a purge leaves no trace of its user in any file")
    func traces() async throws {
        let marker = "marker-4711@example.com"
        for seed in 0..<(isSoak ? 200 : 15) {
            var dice = SplitMix(seed: seed)
            let store = try SQLiteStore(at: folder.file("\(seed).sqlite"))
            for step in 0..<120 {
                let isMarked = Int.random(in: 0..<3, using: &dice) == 0
                let length = Int.random(in: 0..<(Int.random(in: 0..<8, using: &dice) == 0 ? 9_000 : 200), using: &dice)
                let name = (isMarked ? marker : "") + String(repeating: isMarked ? marker : "x", count: length / 20 + 1)
                let event = TrackingEvent.custom(name)
                let user = isMarked ? marker : "bob"
                try await store.append(
                    [.sample("\(step)-\(isMarked ? marker : "")", user: user, event)],
                    isHeld: step % 5 == 0
                )
                if isMarked { try await store.setValue(Array(name.utf8), for: "decisions/1/\(step)") }
                if step % 30 == 29 {
                    let lease = try #require(try await store.take(20))
                    var isEven = false
                    try await store.settle(lease) { _ in
                        isEven.toggle()
                        return isEven ? .delivered : .retry(at: noon, attempts: 1, reason: "HTTP 400")
                    }
                }
            }
            #expect(try folder.occurrences(of: marker) > 0)
            try await store.purge(marker)
            try await store.removeAll(beginningWith: "decisions/1")
            try await store.finishErasing()
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
            #expect(try await store.status(now: noon).deliverable > 0)
            try await store.expectBalance(120)
            await store.close()
            #expect(try folder.occurrences(of: marker) == 0, "seed \(seed)")
        }
    }

    @Test("P24 the mark of a denial, by which later events are rejected, is no trace of its user")
    func mark() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a", user: "marker-4711"), .sample("b", user: "bob")])
        _ = try await store.setConsent([ConsentChange(userID: "marker-4711", isGranted: false)])
        try await store.finishErasing()
        #expect(try folder.occurrences(of: "marker-4711") == 0)
        let refusals = try await store.append([NewEvent(.sample("c", user: "marker-4711"), to: .home)], now: noon)
        #expect(refusals.map { $0?.code } == [.consentDenied])
        #expect(try folder.occurrences(of: "marker-4711") == 0)
    }

    @Test(
        "P24 data removed by a denial is erased when the client's shutdown has returned, or recorded as owed",
        .timeLimit(.minutes(5))
    )
    func erasedAtShutdown() async throws {
        for isHindered in [false, true] {
            let folder = TemporaryFolder()
            let store = try SQLiteStore(at: folder.file(), options: .init(busyTimeout: .seconds(30)))
            let client = try await ExperimentationClient(
                provider: MarkingProvider(),
                store: ClientStore(outbox: store, state: store)
            )
            for number in 0..<100 {
                let user = User(id: number % 2 == 0 ? "marker-4711" : "bob", consent: .granted)
                try await client.session(for: user).track(.custom("spun-wheel", value: Double(number)))
            }
            try await client.session(for: User(id: "marker-4711", consent: .granted)).setConsent(.denied)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: folder.file().path, configuration: configuration)
            if isHindered { try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") } }
            await client.shutdown(within: isHindered ? .milliseconds(200) : generousLimit)
            #expect(try folder.occurrences(of: "marker-4711") == 0 || isHindered)
            try await other.writeWithoutTransaction { if isHindered { try $0.execute(sql: "ROLLBACK") } }
            try other.close()
            await store.close()
            #expect(try folder.occurrences(of: "marker-4711") == 0)
        }
    }

    @Test("P24 a purge deletes files set aside as damaged")
    func tracesInDamage() async throws {
        let store = try SQLiteStore(at: folder.file())
        try await store.append([.sample("a", user: "marker")])
        await store.close()
        var data = try Data(contentsOf: folder.file())
        data.replaceSubrange(0..<40, with: Data(repeating: 0, count: 40))
        try data.write(to: folder.file())
        let next = try SQLiteStore(at: folder.file())
        #expect(next.hasSetAsideDamage)
        #expect(try folder.occurrences(of: "marker") > 0)
        try await next.purge("marker")
        try await next.finishErasing()
        #expect(try folder.occurrences(of: "marker") == 0)
    }

}

/// A vendor whose decisions contain the user's id.
private struct MarkingProvider: ExperimentationProvider, DecisionSource, EventSink {
    let name = "marking"
    let scope = ""
    let capabilities: Set<Capability> = [.tracking]
    let freshness = Freshness()
    var batching: BatchPolicy { BatchPolicy(count: 1_000, interval: .seconds(3_600)) }
    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .asked(self), events: self)
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let mail = context.user.identity.id
        let assignment = Assignment(
            experiment: Experiment(id: "greeting of \(mail)", name: "greeting"),
            variation: Variation(id: "v-\(mail)", name: "warm")
        )
        let resolution = Resolution(.string("hello \(mail)"), reason: .targetingMatch, assignment: 0)
        return .decided(Decisions(flags: [("greeting", resolution)], assignments: [assignment]))
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if case .consentChanged = event.kind { throw ExperimentationError(.unsupported, "no consent signals") }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport { DeliveryReport(.outage()) }
}
