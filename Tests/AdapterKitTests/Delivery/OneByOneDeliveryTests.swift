import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

@Suite("Events delivered one by one", .timeLimit(.minutes(10)))
struct OneByOneDeliveryTests {
    private let time = ManualTime()

    private func batch(_ count: Int) -> [Envelope] {
        (0..<count).map { Envelope(id: "\($0)", identity: Identity(id: "u"), event: .custom("A"), date: time.now) }
    }

    @Test(
        "events behind one that isn't settled aren't sent",
        arguments: [
            .outage(because: .patience), .failed("no"), .split("no"), .stop(ExperimentationError(.unauthorized, "")),
        ]
            as [Verdict]
    )
    func behind(verdict: Verdict) async {
        let sent = Mutex<[String]>([])
        let report = await OneByOneDelivery(pace: nil, by: time).deliver(batch(5)) { envelope in
            sent.withLock { $0.append(envelope.id) }
            return DeliveryReport([.delivered, .rejected("no"), verdict][Int(envelope.id) ?? 0])
        }
        #expect(sent.withLock { $0 } == ["0", "1", "2"])
        #expect(report.verdicts == .each([.delivered, .rejected("no"), verdict, nil, nil]))
    }

    @Test("no more requests are sent per interval than the limit allows, over all batches")
    func pace() async {
        let delivery = OneByOneDelivery(pace: .init(requests: 2, per: .seconds(5)), by: time)
        let sent = Mutex(0)
        let send: @Sendable (Envelope) async -> DeliveryReport = { _ in
            sent.withLock { $0 += 1 }
            return DeliveryReport(.delivered)
        }
        _ = await delivery.deliver(batch(1), send)
        time.advance(by: .seconds(3))
        let batch = self.batch(2)
        let rest = Task { await delivery.deliver(batch, send) }
        await time.waitForSleepers(1)
        #expect(sent.withLock { $0 } == 2)
        time.advance(by: .seconds(2))
        #expect(await rest.value.verdicts == .each([.delivered, .delivered]))
    }

    @Test("an event whose turn doesn't come before the task is cancelled waits for its turn")
    func cancelled() async {
        let delivery = OneByOneDelivery(pace: .init(requests: 1, per: .seconds(5)), by: time)
        let batch = self.batch(3)
        let task = Task { await delivery.deliver(batch) { _ in DeliveryReport(.delivered) } }
        await time.waitForSleepers(1)
        task.cancel()
        #expect(await task.value.verdicts == .each([.delivered, .outage(because: .pace), nil]))
    }
}
