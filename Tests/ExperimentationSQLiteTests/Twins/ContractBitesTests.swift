import ConformanceKit
import Experimentation
import Foundation
import Testing

/// A violation of the contract, and the rules that must detect it.
struct BrokenOutbox: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let rules: Set<String>
    let bench: StoreBench<any OutboxStore>

    init(_ twin: (some OutboxTwin).Type, _ title: String, _ rules: Set<String>) {
        testDescription = title
        self.rules = rules
        bench = StoreBench(features: [.shared, .limited]) { size in
            let base = InMemoryOutboxStore(
                maximumCount: size.maximumCount,
                maximumEventBytes: size.maximumEventBytes
            )
            let memory = TwinMemory()
            return StorePlace { twin.init(base: base, memory: memory) }
        }
    }

    static let all = [
        BrokenOutbox(ConsentOutside.self, "consent is asked outside the store", ["sharing/consent"]),
        BrokenOutbox(SilentGrants.self, "an event that grants is one like any other", ["consent/granting-event"]),
        BrokenOutbox(HeedsCancellation.self, "a cancelled task's work is given up", ["settling/cancelled"]),
        BrokenOutbox(HeldEverywhere.self, "held at one destination is held at all", ["consent/held"]),
        BrokenOutbox(LastWord.self, "only the last of several changes is carried out", ["consent/several"]),
        BrokenOutbox(RuthlessRoom.self, "overflow drops what is leased", ["room/in-hand", "room/destinations"]),
        BrokenOutbox(RuthlessExpiry.self, "expiry drops what is leased", ["settling/expired"]),
        BrokenOutbox(ForgottenSignals.self, "a purge takes consent signals", ["destinations/removed"]),
        BrokenOutbox(OpenLane.self, "a lease isn't the whole lane's", ["lanes/one-holder", "sharing/lane"]),
        BrokenOutbox(StillEpoch.self, "the epoch doesn't grow", ["lanes/epochs", "lanes/taken-over"]),
        BrokenOutbox(
            StaleVerdicts.self,
            "a stale holder's retries and drops count",
            ["lanes/stale", "sharing/killed"]
        ),
        BrokenOutbox(
            BlindHolder.self,
            "a denial leaves the round alone that has the event",
            ["consent/denied-in-hand", "consent/granted-in-hand", "lanes/late-answer"]
        ),
        BrokenOutbox(Restless.self, "a pause is forgotten", ["lanes/paused", "destinations/own"]),
        BrokenOutbox(OneWayClock.self, "a clock that was ahead is believed", ["clocks/set-back"]),
        BrokenOutbox(OrderedByTime.self, "order by time", ["consent/granted"]),
        BrokenOutbox(
            ForgetfulRound.self,
            "a round has no beginning",
            ["delivering/ended-meanwhile", "delivering/batches"]
        ),
        BrokenOutbox(AccountsFromRequests.self, "accounts from the request", ["settling/once", "lanes/stale"]),
        BrokenOutbox(
            BlindToOverflow.self,
            "what is dropped to make room isn't told",
            ["room/least-important", "room/one-call", "room/cheap-newcomer", "room/in-hand", "room/destinations"]
        ),
        BrokenOutbox(SharedBody.self, "one destination's delivery counts at all", ["destinations/body"]),
    ]
}

/// Reads, decides, and writes in separate steps, so that others can interfere.
private struct ReadThenWrite: StateStoreDecorator {
    let baseState: any StateStore

    func update(
        _ key: String,
        to value: [UInt8]?,
        if expected: [UInt8]?
    ) async throws(ExperimentationError) -> StateUpdate {
        let current = try await baseState.value(for: key)
        guard current == expected else { return .conflict(current) }
        for _ in 0..<10 { await Task.yield() }
        try await baseState.setValue(value, for: key)
        return .updated
    }
}

/// Removes only what begins with the first of several.
private struct RemovesTheFirst: StateStoreDecorator {
    let baseState: any StateStore

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        try await baseState.removeAll(beginningWith: Array(prefixes.prefix(1)))
    }
}

/// Removes what begins with what several have in common.
private struct RemovesTheCommon: StateStoreDecorator {
    let baseState: any StateStore

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        let common = prefixes.reduce(prefixes.first ?? "") { $0.commonPrefix(with: $1) }
        try await baseState.removeAll(beginningWith: [common])
    }
}

@Suite("The contract detects violations")
struct ContractBitesTests {
    @Test("a store that breaks a rule is detected, by that rule", arguments: BrokenOutbox.all)
    func found(_ broken: BrokenOutbox) async {
        let rules = OutboxStoreContract.cases.filter { broken.rules.contains($0.id) }
        #expect(Set(rules.map(\.id)) == broken.rules)
        for rule in rules { #expect(await rule.failures(over: broken.bench) != [], "\(rule.id)") }
    }

    @Test("a store that forgets events it hasn't written out yet is detected, by most rules")
    func forgottenTail() async {
        let rules = OutboxStoreContract.cases.filter { rule in
            ["accepting", "delivering", "settling", "consent", "durable"].contains { rule.id.hasPrefix($0 + "/") }
        }
        var found = 0
        for rule in rules where await rule.failures(over: ForgottenTail.bench) != [] { found += 1 }
        #expect(found > rules.count / 2, "\(found) of \(rules.count)")
    }

    @Test("a store that forgets deliveries while their rows exist is detected")
    func forgottenHead() async {
        let ids: Set = ["settling/any-order", "destinations/own", "durable/unclosed", "sharing/seen"]
        let rules = OutboxStoreContract.cases.filter { ids.contains($0.id) }
        #expect(rules.count == ids.count)
        for rule in rules { #expect(await rule.failures(over: ForgottenHead.bench) != [], "\(rule.id)") }
    }

    @Test("a state store that reads and writes in separate steps is detected")
    func races() async {
        let rules = StateStoreContract.cases.filter { $0.id == "state/first" }
        let bench = StoreBench<any StateStore> { _ in ReadThenWrite(baseState: InMemoryStateStore()) }
        #expect(rules.count == 1)
        for rule in rules { #expect(await rule.failures(over: bench) != []) }
    }

    @Test("a state store that removes fewer or more keys than those with one of several prefixes is detected")
    func severalBeginnings() async {
        let rules = StateStoreContract.cases.filter { $0.id == "state/several-beginnings" }
        #expect(rules.count == 1)
        for rule in rules {
            let first = StoreBench<any StateStore> { _ in RemovesTheFirst(baseState: InMemoryStateStore()) }
            #expect(await rule.failures(over: first) != [])
            let common = StoreBench<any StateStore> { _ in RemovesTheCommon(baseState: InMemoryStateStore()) }
            #expect(await rule.failures(over: common) != [])
        }
    }

    @Test("a store that hangs, or can't be opened, is a failure and does no further harm")
    func hangs() async {
        struct Hanging: OutboxStoreDecorator {
            let base: any OutboxStore
            func append(_ events: [NewEvent], now: Date) async throws(ExperimentationError) -> [ExperimentationError?] {
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                defer { continuation.finish() }
                for await _ in stream {}
                return []
            }
        }
        let rule = OutboxStoreContract.cases[0]
        let hanging = StoreBench<any OutboxStore> { _ in Hanging(base: InMemoryOutboxStore()) }
        #expect(
            await rule.failures(over: hanging, within: .milliseconds(50)).map(\.message) == [
                "it did not end within 0.05 seconds"
            ]
        )
        let closed = StoreBench<any OutboxStore> { _ in throw ExperimentationError(.store, "closed") }
        #expect(await rule.failures(over: closed).count == 1)
    }

    @Test("a store that hangs while its location is created, or on closing, is a failure too")
    func hangsAround() async {
        @Sendable func hang() async {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
        let rule = OutboxStoreContract.cases[0]
        let unmade = StoreBench<any OutboxStore>(features: []) { _ in
            await hang()
            return StorePlace { InMemoryOutboxStore() }
        }
        let reasons = await rule.failures(over: unmade, within: .milliseconds(50)).map(\.message)
        #expect(reasons == ["It can't be opened: it did not end within 0.05 seconds"])
        let unclosed = StoreBench<any OutboxStore>(features: []) { _ in
            StorePlace {
                InMemoryOutboxStore()
            } close: { _ in
                await hang()
            }
        }
        let messages = await rule.failures(over: unclosed, within: .seconds(2)).map(\.message)
        #expect(messages.contains("It can't be closed: it did not end within 2.0 seconds"))
    }

    @Test(
        "a store that leases nothing and says that it leased is detected",
        arguments: ["lanes/reason", "settling/attempts", "durable/numbers"]
    )
    func emptyHanded(_ id: String) async throws {
        struct EmptyHanded: OutboxStoreDecorator {
            let base: any OutboxStore
            func lease(_ request: LeaseRequest) async throws(ExperimentationError) -> LeaseAnswer {
                let answer = try await base.lease(request)
                guard case .leased(let lease) = answer else { return answer }
                return .leased(Lease(token: lease.token, batches: []))
            }
        }
        let bench = StoreBench<any OutboxStore>(features: [.durable]) { _ in
            let base = InMemoryOutboxStore()
            return StorePlace { EmptyHanded(base: base) }
        }
        let rule = try #require(OutboxStoreContract.cases.first { $0.id == id })
        #expect(await rule.failures(over: bench) != [])
    }

    @Test("a state store that isn't empty at the start is detected, whatever count it begins with")
    func countsOn() async throws {
        let bench = StoreBench<any StateStore>(features: [.shared]) { _ in
            let base = InMemoryStateStore()
            try await base.setValue([255], for: "n")
            return StorePlace { base }
        }
        let rule = try #require(StateStoreContract.cases.first { $0.id == "state/counted" })
        #expect(await rule.failures(over: bench) != [])
    }
}
