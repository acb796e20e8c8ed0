import CoreMetrics
import MetricsTestKit

/// Metrics whose counters can't be made until a gate is opened.
struct BlockedMetrics: MetricsFactory {
    let base = TestMetrics()
    let gate = Gate()

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        gate.pass()
        return base.makeCounter(label: label, dimensions: dimensions)
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        base.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        base.makeTimer(label: label, dimensions: dimensions)
    }

    func destroyCounter(_ handler: any CounterHandler) { base.destroyCounter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { base.destroyRecorder(handler) }
    func destroyTimer(_ handler: any TimerHandler) { base.destroyTimer(handler) }
}
