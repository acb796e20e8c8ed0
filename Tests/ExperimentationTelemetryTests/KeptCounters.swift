import CoreMetrics
import MetricsTestKit
import Synchronization

/// Metrics with a counter for each time that one is made, whatever it is called.
final class KeptCounters: MetricsFactory {
    private final class Kept: CounterHandler {
        let label: String
        let count = Atomic<Int64>(0)

        init(_ label: String) { self.label = label }

        func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }
        func reset() { count.store(0, ordering: .relaxed) }
    }

    private let kept = Mutex<[Kept]>([])
    private let base = TestMetrics()

    /// What the counters with a label have counted, in the order in which they were made.
    func counts(_ label: String) -> [Int64] {
        kept.withLock { $0.filter { $0.label == label }.map { $0.count.load(ordering: .relaxed) } }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let counter = Kept(label)
        kept.withLock { $0.append(counter) }
        return counter
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        base.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        base.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) { base.destroyRecorder(handler) }
    func destroyTimer(_ handler: any TimerHandler) { base.destroyTimer(handler) }
}
