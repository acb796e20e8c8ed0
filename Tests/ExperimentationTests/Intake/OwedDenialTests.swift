import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("A denial that a store couldn't carry out is owed, also by the next run")
struct OwedDenialTests {
    private let outbox = TroubledStore(.init(failsDenials: true))
    private let state = InMemoryStateStore()
    private let vendor = ScriptedVendor(needsConsent: true)

    private func run(_ time: ManualTime = ManualTime()) async throws -> ExperimentationClient {
        try await vendor.client(store: ClientStore(outbox: outbox, state: state), time: time)
    }

    /// A run in which Ada's withdrawal fails, without a regular shutdown.
    private func firstRun() async throws {
        let client = try await run()
        await client.setConnectivity(.offline)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        for number in 0..<3 {
            try await ada.track(.numbered(number))
            try await bob.track(.numbered(number + 10))
        }
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await client.outboxStatus().ready == 7)
    }

    private var numbers: [Int] { vendor.record.received.compactMap(\.event.number) }

    private func isForgotten() async throws -> Bool { try await state.keys(beginningWith: "").isEmpty }

    @Test("P24 the next run removes the events before it sends anything, even if the user isn't named")
    func nextRun() async throws {
        try await firstRun()
        #expect(try await !isForgotten())
        outbox.mendDenials()
        let client = try await run()
        #expect(try await isForgotten())
        #expect(try await client.flush(retrying: false).isDone)
        #expect(numbers == [10, 11, 12])
        try await client.expectBalance(Ledger(accepted: 7, delivered: 4, purged: 3))
    }

    @Test(
        "P24 a denial after the client's end removes them at once, or with the next run if the store fails",
        arguments: [false, true]
    )
    func afterTheEnd(storeFails: Bool) async throws {
        if !storeFails { outbox.mendDenials() }
        let client = try await run()
        await client.setConnectivity(.offline)
        let ada = client.session(for: User(id: "ada", consent: .granted))
        for number in 0..<3 { try await ada.track(.numbered(number)) }
        await client.shutdown(within: .zero)
        let error = await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(error?.code == (storeFails ? .store : .shutDown))
        outbox.mendDenials()
        let next = try await run()
        #expect(try await isForgotten())
        #expect(try await next.flush(retrying: false).isDone)
        #expect(numbers == [])
    }

    @Test("P24 while the store can't remove them, the next run doesn't send them either, and removes them later")
    func later() async throws {
        try await firstRun()
        let time = ManualTime()
        let client = try await run(time)
        #expect(try await !client.flush(retrying: false).isDone)
        #expect(numbers == [10, 11, 12])
        #expect(try await !isForgotten())
        outbox.mendDenials()
        try await client.drain(time)
        #expect(numbers == [10, 11, 12])
        #expect(try await isForgotten())
        try await client.expectBalance(Ledger(accepted: 7, delivered: 4, purged: 3))
    }

    @Test(
        "P24 while the notes of earlier runs can't be read, the next run sends nothing",
        arguments: [StoreOperation.keys, .value]
    )
    func unreadableNotes(operation: StoreOperation) async throws {
        try await firstRun()
        outbox.mendDenials()
        let notes = UnreadableNotes(baseState: state, operation: operation)
        let time = ManualTime()
        let client = try await vendor.client(store: ClientStore(outbox: outbox, state: notes), time: time)
        #expect(try await !client.flush(retrying: false).isDone)
        #expect(numbers == [])
        notes.areReadable.value = true
        try await client.drain(time)
        #expect(numbers == [10, 11, 12])
        #expect(try await isForgotten())
        try await client.expectBalance(Ledger(accepted: 7, delivered: 4, purged: 3))
    }

    @Test(
        "a user who consents again before the notes of earlier runs can be read is owed no removal",
        arguments: [true, false]
    )
    func agreedUnread(hasSession: Bool) async throws {
        try await firstRun()
        outbox.mendDenials()
        let notes = UnreadableNotes(baseState: state, operation: .keys)
        let time = ManualTime()
        let client = try await vendor.client(store: ClientStore(outbox: outbox, state: notes), time: time)
        if hasSession {
            try await client.session(for: User(id: "ada")).setConsent(.granted)
        } else {
            try await client.track(.custom("back"), for: User(id: "ada", consent: .granted))
        }
        #expect(try await isForgotten())
        notes.areReadable.value = true
        try await client.drain(time)
        #expect(numbers.filter { $0 < 10 } == [0, 1, 2])
    }

    /// A store in which the notes of owed denials can't be read for a while.
    private struct UnreadableNotes: StateStoreDecorator {
        let baseState: any StateStore
        /// What fails.
        let operation: StoreOperation
        let areReadable = Shared(false)

        private func read(_ key: String, by operation: StoreOperation) throws(ExperimentationError) {
            if operation == self.operation, key.contains("/withdrawal/"), !areReadable.value {
                throw ExperimentationError(.store, "The disk failed.")
            }
        }

        func value(for key: String) async throws(ExperimentationError) -> [UInt8]? {
            try read(key, by: .value)
            return try await baseState.value(for: key)
        }

        func keys(beginningWith prefix: String) async throws(ExperimentationError) -> [String] {
            try read(prefix, by: .keys)
            return try await baseState.keys(beginningWith: prefix)
        }
    }

    @Test(
        "a user who consents again is owed no removal: neither this run nor the next removes later events",
        arguments: [true, false]
    )
    func agreedAgain(hasSession: Bool) async throws {
        try await firstRun()
        let time = ManualTime()
        let second = try await run(time)
        await second.setConnectivity(.offline)
        let ada = User(id: "ada", consent: .granted)
        if hasSession {
            try await second.session(for: ada).track(.numbered(3))
        } else {
            try await second.track(.numbered(3), for: ada)
        }
        #expect(try await isForgotten())
        outbox.mendDenials()
        let client = try await run(time)
        try await client.drain(time)
        #expect(numbers.filter { $0 < 10 } == [0, 1, 2, 3])
        try await client.expectBalance(Ledger(accepted: 8, delivered: 8))
    }

    @Test("a user who consents again in the same run is owed no removal from then on")
    func agreedAtOnce() async throws {
        let client = try await run()
        let ada = client.session(for: User(id: "ada", consent: .granted))
        await #expect(throws: ExperimentationError.self) { try await ada.setConsent(.denied) }
        #expect(try await !isForgotten())
        try await ada.setConsent(.granted)
        #expect(try await isForgotten())
    }

    @Test("P24 a user who returns without consent releases nothing, and is rejected until they consent")
    func unasked() async throws {
        try await firstRun()
        let client = try await run()
        let ada = client.session(for: User(id: "ada"))
        var error = await #expect(throws: ExperimentationError.self) { try await ada.track(.numbered(3)) }
        #expect(error?.code == .store)
        outbox.mendDenials()
        error = await #expect(throws: ExperimentationError.self) { try await ada.track(.numbered(4)) }
        #expect(error?.code == .consentDenied)
        try await ada.setConsent(.granted)
        try await ada.track(.numbered(5))
        #expect(try await client.flush(retrying: false).isDone)
        #expect(numbers == [10, 11, 12, 5])
        try await client.expectBalance(Ledger(accepted: 9, delivered: 6, purged: 3))
        #expect(try await isForgotten())
    }

    @Test("a withdrawal that was carried out, or undone in the meantime, leaves no note")
    func noNote() async throws {
        outbox.mendDenials()
        let client = try await run()
        let ada = client.session(for: User(id: "ada", consent: .granted))
        try await ada.setConsent(.denied)
        #expect(try await isForgotten())
        try await ada.setConsent(.granted)
        async let denied: Void = ada.setConsent(.denied)
        async let granted: Void = ada.setConsent(.granted)
        _ = try await (denied, granted)
        #expect(try await isForgotten())
    }
}
