import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationMigration
import Foundation
import Synchronization
import Testing
import Waiting

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

@Suite("Time that a case advances until something happens")
struct PushedTimeTests {
    @Test("isn't advanced again while an attempt is in progress")
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
            // As on a busy machine, and longer than the first push waits for what can't be seen.
            if looks == 2 { try await pause(.milliseconds(500)) }
            if looks == 250 { sink.mayAnswer.open() }
            return try await client.ledger().delivered == 1
        }
        _ = try await flush.value
        #expect(looks >= 250)
        #expect((probe.time.now.timeIntervalSince(start) / 120).rounded(.down) == 1)
        try await probe.client().shutdown(within: .zero)
    }

    @Test(
        "isn't advanced before a provider that listens for changes is connected",
        arguments: Combination.allCases
    )
    func listening(_ combination: Combination) async throws {
        let looks = Mutex(0)
        let bend = BentSubject.Bend(isHeard: {
            looks.withLock { looks in
                looks += 1
                return looks == 5
            }
        })
        let subject = combination.subject(with: BentSubject(bend: bend))
        let probe = Probe(subject: subject, stage: try await subject.open(.shop), world: .shop)
        _ = try await probe.readySession()
        #expect(looks.withLock { $0 } == 5)
        try await probe.client().shutdown(within: .zero)
    }

    /// How the vendor whose connection takes time is used.
    enum Combination: CaseIterable {
        case alone, composed, leadingAMove

        func subject(with listening: BentSubject) -> any ConformanceSubject {
            let other = SigmaSubject()
            return switch self {
            case .alone: listening
            case .composed:
                ComposedSubject("composed", of: [.init("other", other), .init("listening", listening)])
            case .leadingAMove: MigratingSubject(from: listening, to: other, at: .shadow)
            }
        }
    }
}
