import Foundation
import Testing

@testable import Experimentation

@Suite("A table determines what happens to an event")
struct DeliveryTableTests {
    private static let now = Date(timeIntervalSince1970: 1_795_262_400)
    private static let stop = ExperimentationError(.unauthorized, "The key was refused.")

    struct Row: Sendable, CustomTestStringConvertible {
        var verdict: Verdict?
        var attempts = 0
        var isAlone = false
        var expected: DeliveryDecision
        var testDescription: String {
            "\(verdict.map { "\($0)" } ?? "no answer"), attempt \(attempts), alone \(isAlone)"
        }
    }

    private static func settled(_ outcome: Settlement.Outcome) -> DeliveryDecision {
        .settle(Settlement(id: "e", sequence: 7, outcome))
    }

    private static func back(_ seconds: Double, attempts: Int = 0, _ reason: String) -> DeliveryDecision {
        settled(.retry(at: now + seconds, attempts: attempts, reason: reason))
    }

    private static func dropped(_ reason: Ledger.DropReason, _ detail: String) -> DeliveryDecision {
        settled(.dropped(reason, detail: detail))
    }

    private static func stays(_ reason: OutageReason, asked: Duration? = nil) -> DeliveryDecision {
        .stays(.outage(reason), asked: asked)
    }

    private static let table: [Row] = [
        Row(verdict: .delivered, expected: settled(.delivered)),
        Row(verdict: nil, attempts: 2, expected: stays(.noAnswer)),
        Row(verdict: .outage(), attempts: 2, expected: stays(.noAnswer)),
        Row(verdict: .outage(because: .timeout), expected: stays(.timeout)),
        Row(verdict: .outage(after: .zero, because: .patience), expected: stays(.patience)),
        Row(verdict: .outage(after: .seconds(7)), expected: stays(.noAnswer, asked: .seconds(7))),
        Row(verdict: .outage(after: .seconds(-7)), expected: stays(.noAnswer)),
        Row(verdict: .outage(after: .seconds(1_000_000_000)), expected: stays(.noAnswer, asked: .seconds(300))),
        Row(verdict: .outage(after: .seconds(Int64.max)), expected: stays(.noAnswer, asked: .seconds(300))),
        Row(verdict: .failed("400"), expected: back(1, attempts: 1, "400")),
        Row(verdict: .failed("400"), attempts: 1, expected: back(2, attempts: 2, "400")),
        Row(verdict: .failed("400"), attempts: 2, expected: dropped(.exhausted, "400")),
        Row(verdict: .failed("400"), attempts: .max - 1, expected: dropped(.exhausted, "400")),
        Row(verdict: .split("413"), expected: .splitWithOthers),
        Row(verdict: .split("413"), isAlone: true, expected: dropped(.rejected, "413")),
        Row(verdict: .rejected("unknown"), expected: dropped(.rejected, "unknown")),
        Row(verdict: .stop(stop), attempts: 1, expected: .stays(.refused(stop), asked: nil)),
    ]

    @Test("P10 each verdict has its consequence from the table", arguments: table)
    func decides(_ row: Row) {
        let envelope = Envelope(
            id: "e",
            sequence: 7,
            identity: Identity(id: "ada"),
            event: .custom("a"),
            date: Self.now,
            attempts: row.attempts
        )
        let decision = DeliveryDecision.about(
            envelope,
            verdict: row.verdict,
            isAlone: row.isAlone,
            policy: BatchPolicy(attempts: 3),
            now: Self.now,
            jitter: 0.5
        )
        #expect(decision == row.expected)
    }

    @Test("P11 waits grow, are drawn from a twentieth of their limit on, and never exceed five minutes")
    func schedule() {
        let bounds = (0...70).map { RetrySchedule.wait(beforeAttempt: $0, jitter: 1) }
        #expect(bounds.prefix(10).map(\.seconds) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300])
        #expect(bounds.dropFirst(9).allSatisfy { $0 == .seconds(300) })
        #expect(RetrySchedule.wait(beforeAttempt: .max, jitter: 1) == .seconds(300))
        #expect(RetrySchedule.wait(beforeAttempt: .min, jitter: 1) == .seconds(1))
        for jitter in [-1.0, 0, .nan, .infinity, 2] {
            let wait = RetrySchedule.wait(beforeAttempt: 3, jitter: jitter)
            #expect(wait >= .milliseconds(400) && wait <= .seconds(8))
        }
    }

    @Test("P11 ten thousand clients that failed together don't retry together")
    func storm() {
        let dice = Dice(11)
        // After an outage of one hour, each client follows its own schedule; the first attempt after it succeeds.
        var perSecond: [Int: Int] = [:]
        for _ in 0..<10_000 {
            var time = dice.fraction()
            var failures = 0
            while time < 3_600 {
                failures += 1
                time += RetrySchedule.wait(beforeAttempt: failures, jitter: dice.fraction()).seconds
            }
            perSecond[Int(time), default: 0] += 1
        }
        let last = perSecond.keys.max() ?? 3_600
        let mean = 10_000 / Double(last - 3_600 + 1)
        let peak = Double(perSecond.values.max() ?? 0)
        #expect(peak <= 3 * mean, "peak \(peak), mean \(mean)")
        #expect(last <= 3_900)
    }

    @Test("P12 a vendor's requested wait is limited to five minutes, and a wait of zero counts as none")
    func clamp() {
        let asked: [Duration] = [
            .zero, .seconds(1), .seconds(299), .seconds(300), .seconds(301), .seconds(-1), .seconds(Int64.max),
            .seconds(Int64.min), .nanoseconds(1),
        ]
        let waits = asked.map { RetrySchedule.asked($0) }
        let expected: [Duration?] = [
            nil, .seconds(1), .seconds(299), .seconds(300), .seconds(300), nil, .seconds(300), nil, .milliseconds(100),
        ]
        #expect(waits == expected)
    }
}
