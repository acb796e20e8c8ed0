import Experimentation
import Testing

@testable import ExperimentationTelemetry

@Suite("Counts by reason")
struct ReasonCountsTests {
    @Test("many reasons take a bounded number of entries, and every evaluation is counted")
    func bounded() {
        var counts = ReasonCounts()
        for number in 0..<10_000 { counts.add(Reason(rawValue: "reason-\(number % 100)"), nil) }
        #expect(counts.entries.count == 33)
        #expect(counts.entries.last == ReasonCounts.Entry(reason: Reason(rawValue: "_other"), error: nil, count: 6_800))
        #expect(counts.take().reduce(0) { $0 + $1.count } == 10_000)
        #expect(counts.take() == [])
    }

    @Test("many errors take a bounded number of entries, whatever the reason")
    func errors() {
        var counts = ReasonCounts()
        for number in 0..<200 {
            counts.add(Reason(rawValue: number % 2 == 0 ? "_other" : "error"), ErrorCode(rawValue: "E\(number)"))
        }
        #expect(counts.entries.count == 33)
        #expect(counts.take().reduce(0) { $0 + $1.count } == 200)
    }
}
