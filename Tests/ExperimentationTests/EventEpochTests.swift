import Testing

@testable import Experimentation

@Suite("Epochs of events")
struct EventEpochTests {
    @Test(
        "the epochs of the latest events are remembered, however many there were before, and never more than the limit",
        arguments: [1, EventEpochs.most / 2, EventEpochs.most, EventEpochs.most + 1, 3 * EventEpochs.most]
    )
    func latest(count: Int) {
        var epochs = EventEpochs()
        var most = 0
        for number in 1...count {
            epochs.remember(UInt64(number), of: "\(number)")
            most = max(most, epochs.count)
        }
        #expect(most <= EventEpochs.most)
        let latest = max(1, count - EventEpochs.most / 2 + 1)...count
        #expect(latest.map { epochs.take("\($0)") } == latest.map { UInt64($0) })
    }

    @Test("an epoch is taken once")
    func once() {
        var epochs = EventEpochs()
        epochs.remember(7, of: "a")
        #expect(epochs.take("a") == 7)
        #expect(epochs.take("a") == nil)
        #expect(epochs.count == 0)
    }
}
