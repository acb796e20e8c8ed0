import Synchronization
import Testing

@testable import Experimentation

@Suite("Delivery events reach their listener")
struct DeliveryEventsTests {
    @Test("the thousandth event uses no more stack than the first")
    func stack() async {
        let depths = Mutex<[UInt]>([])
        let events = DeliveryEvents()
        events.listen { _ in
            var here = 0
            let depth = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(depth) }
        }
        for _ in 0..<1_000 { await events.send(DeliveryEvent()) }
        let taken = depths.withLock { $0 }
        #expect(taken.count == 1_000)
        #expect((taken.max() ?? 0) - (taken.min() ?? 0) < 4_096)
    }

    @Test("events before there is a listener are lost, and later ones go to the last listener")
    func listeners() async {
        let heard = Mutex<[String]>([])
        let events = DeliveryEvents()
        await events.send(DeliveryEvent())
        events.listen { _ in heard.withLock { $0.append("first") } }
        await events.send(DeliveryEvent())
        events.listen { _ in heard.withLock { $0.append("second") } }
        await events.send(DeliveryEvent(isDisabled: true))
        #expect(heard.withLock { $0 } == ["first", "second"])
    }
}
