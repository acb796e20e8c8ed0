import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@Suite("Consent is a gate before the queue")
struct ConsentRaceTests {
    @Test("P24 after a withdrawal nothing is begun and nothing is left", arguments: 0..<(isSoak ? 500 : 60))
    func withdrawal(seed: Int) async throws {
        let dice = Dice(seed)
        let isWithdrawn = Shared(false)
        let tooLate = Shared(0)
        let isHonest = seed.isMultiple(of: 2)
        let vendor = ScriptedVendor(
            batching: BatchPolicy(count: 3, largest: 5, interval: .milliseconds(1)),
            needsConsent: true
        ) { batch in
            // One request an event, as some vendors want it; a cancelled task starts none.
            var report = DeliveryReport()
            for envelope in batch {
                if Task.isCancelled { return report }
                if envelope.identity.id == "ada", !envelope.isConsentSignal, isWithdrawn.value {
                    tooLate.change { $0 += 1 }
                }
                if isHonest { await Task.yield() }
                try? await Task.sleep(for: .microseconds(200))
                report.verdicts[envelope.id] = .delivered
            }
            return report
        }
        let client = try await vendor.client(time: SystemTime())
        let ada = client.session(for: User(id: "ada", consent: dice.below(2) == 0 ? .granted : .unknown))
        let bob = client.session(for: User(id: "bob", consent: .granted))
        let pause = Duration.microseconds(dice.below(3_000))
        try await withThrowingTaskGroup { group in
            for number in 0..<3 {
                group.addTask {
                    for step in 0..<10 { try? await ada.track(.numbered(number * 10 + step)) }
                }
            }
            group.addTask { for step in 0..<10 { try await bob.track(.numbered(step)) } }
            group.addTask { for _ in 0..<5 { _ = try await client.flush() } }
            group.addTask {
                try await Task.sleep(for: pause)
                if dice.below(2) == 0 { try await ada.setConsent(.granted) }
                try await ada.setConsent(.denied)
                isWithdrawn.value = true
            }
            try await group.waitForAll()
        }
        let end = ContinuousClock.now + .seconds(20)
        while try await !client.flush(), .now < end {}
        #expect(tooLate.value == 0)
        let status = try await client.outboxStatus()
        #expect(status.ready + status.held + status.delayed + status.leased == 0, "\(status)")
        // The others' events aren't lost on the way.
        let received = Set(vendor.record.received.filter { $0.identity.id == "bob" && !$0.isConsentSignal }.map(\.id))
        #expect(received.count == 10)
        try await client.expectBalance()
        await client.shutdown()
    }

    @Test("an event that meets the granting of consent isn't held for ever", arguments: 0..<40)
    func granting(seed: Int) async throws {
        let dice = Dice(seed)
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        let session = client.session(for: User(id: "ada"))
        try await withThrowingTaskGroup { group in
            for number in 0..<4 { group.addTask { try await session.track(.numbered(number)) } }
            group.addTask {
                for _ in 0..<dice.below(20) { await Task.yield() }
                try await session.setConsent(.granted)
            }
            try await group.waitForAll()
        }
        #expect(try await client.flush())
        #expect(Set(vendor.record.received.compactMap(\.event.number)) == [0, 1, 2, 3])
    }

    @Test("someone who denied and comes back with consent is delivered again")
    func comesBack() async throws {
        let vendor = ScriptedVendor(needsConsent: true)
        let client = try await vendor.client()
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.setConsent(.denied)
        await #expect(throws: ExperimentationError.self) { try await session.track(.numbered(1)) }
        let again = client.session(for: User(id: "ada", consent: .granted))
        try await again.track(.numbered(2))
        #expect(try await client.flush())
        #expect(vendor.record.received.compactMap(\.event.number) == [2])
    }
}

extension Envelope {
    fileprivate var isConsentSignal: Bool {
        if case .consentChanged = event.kind { true } else { false }
    }
}
