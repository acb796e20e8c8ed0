import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import Synchronization
import Testing

/// A vendor that answers when it is told to.
private final class SlowSink: EventSink {
    let batching = BatchPolicy()
    let isAsked = AsyncGate()
    let mayAnswer = AsyncGate()

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        isAsked.open()
        await mayAnswer.wait()
        return DeliveryReport(.delivered)
    }
}

@Suite("Time that a case pushes until something happens")
struct PushedTimeTests {
    @Test("isn't pushed again while an attempt is under way")
    func underWay() async throws {
        let sink = SlowSink()
        let bend = BentSubject.Bend(provider: { provider, _ in
            BentProvider(provider) { roles, _ in roles.events = sink }
        })
        let subject = BentSubject(bend: bend)
        let probe = Probe(subject: subject, stage: try await subject.open(.shop), world: .shop)
        let client = try await probe.client()
        try await probe.session(for: User(id: "ada", consent: .granted)).track(.custom("seen"))
        let flush = Task { try await client.flush(within: .seconds(3_600)) }
        await sink.isAsked.wait()
        let start = probe.time.now
        var looks = 0
        try await probe.eventually("the event is delivered", pushing: .seconds(120)) {
            looks += 1
            // Longer than the first push waits for what can't be seen.
            if looks == 250 { sink.mayAnswer.open() }
            return try await client.ledger().delivered == 1
        }
        _ = try await flush.value
        #expect(looks >= 250)
        #expect((probe.time.now.timeIntervalSince(start) / 120).rounded(.down) == 1)
        try await probe.client().shutdown(within: .zero)
    }
}
