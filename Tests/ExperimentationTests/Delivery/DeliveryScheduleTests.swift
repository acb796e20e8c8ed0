import Foundation
import Testing

@testable import Experimentation

@Suite("When the next delivery run begins")
struct DeliveryScheduleTests {
    private static let start = ContinuousClock.now
    private static func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }
    private static func fresh() -> DeliverySchedule {
        DeliverySchedule(BatchPolicy(count: 3, interval: .seconds(10)))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var expected: DeliverySchedule.Next
        var steps: @Sendable (inout DeliverySchedule) -> Void

        init(
            _ title: String,
            _ expected: DeliverySchedule.Next,
            _ steps: @escaping @Sendable (inout DeliverySchedule) -> Void
        ) {
            testDescription = title
            self.expected = expected
            self.steps = steps
        }
    }

    @Test("a batch has room for one event, whatever the policy says", arguments: [0, -1, Int.min])
    func emptyBatches(count: Int) {
        var schedule = DeliverySchedule(BatchPolicy(count: count, interval: .seconds(10)))
        #expect(schedule.next(at: Self.start) == .never)
        schedule.accepted(1, at: Self.start)
        #expect(schedule.next(at: Self.start) == .now)
    }

    private static let outage: @Sendable (inout DeliverySchedule) -> Void = { schedule in
        schedule.begin()
        schedule.ended(.outage(), at: start, jitter: 0.5)
    }

    private static let table: [Row] = [
        Row("nothing waits", .never) { _ in },
        Row("one event waits for others", .at(at(10))) { $0.accepted(1, at: start) },
        Row("the oldest of several says when", .at(at(10))) {
            $0.accepted(1, at: start)
            $0.accepted(1, at: at(4))
        },
        Row("enough wait", .now) { $0.accepted(3, at: start) },
        Row("a flush is asked for", .now) { $0.force() },
        Row("after an outage events wait for the pause", .at(at(1))) {
            outage(&$0)
            $0.accepted(9, at: start)
        },
        Row("a flush doesn't wait for that pause", .now) {
            outage(&$0)
            $0.force()
        },
        Row("a flush waits for the pause that the vendor asked for", .at(at(40))) {
            $0.begin()
            $0.ended(.outage(asked: .seconds(40)), at: start, jitter: 0.5)
            $0.force()
        },
        Row("what failed is tried when its wait is over", .at(at(7))) {
            $0.begin()
            $0.ended(.waits(until: at(7)), at: start, jitter: 0.5)
        },
        Row("others don't wait for that", .now) {
            $0.begin()
            $0.ended(.waits(until: at(7)), at: start, jitter: 0.5)
            $0.accepted(3, at: start)
        },
        Row("without a network nothing is begun", .never) {
            $0.set(.offline, true)
            $0.accepted(3, at: start)
            $0.force()
        },
        Row("with a network it is, at once", .now) {
            outage(&$0)
            $0.set(.offline, true)
            $0.set(.offline, false)
        },
        Row("of two holds both must go", .never) {
            $0.set(.offline, true)
            $0.set(.disabled, true)
            $0.set(.offline, false)
        },
        Row("a vendor that refuses everything is tried after a quarter of an hour", .at(at(900))) {
            $0.begin()
            $0.ended(.refused, at: start, jitter: 0.5)
            $0.force()
        },
        Row("or when told that the reason is gone", .now) {
            $0.begin()
            $0.ended(.refused, at: start, jitter: 0.5)
            $0.resumeAfterRefusal()
        },
        Row("but not while it has switched itself off", .never) {
            $0.begin()
            $0.ended(.refused, at: start, jitter: 0.5)
            $0.set(.disabled, true)
        },
        Row("there may be more", .now) {
            $0.begin()
            $0.ended(.again, at: start, jitter: 0.5)
        },
        Row("all is delivered", .never) {
            $0.accepted(3, at: start)
            $0.begin()
            $0.ended(.empty, at: start, jitter: 0.5)
        },
    ]

    @Test("each input has one consequence", arguments: table)
    func follows(_ row: Row) {
        var schedule = Self.fresh()
        row.steps(&schedule)
        #expect(schedule.next(at: Self.start) == row.expected)
    }

    @Test("a successful probe lifts the stop; a failed one doubles the wait")
    func probing() {
        var schedule = Self.fresh()
        schedule.begin()
        schedule.ended(.refused, at: Self.start, jitter: 0.5)
        #expect(schedule.next(at: Self.at(900)) == .now)
        schedule.begin()
        #expect(schedule.refusals.isProbing && schedule.holds.isEmpty)
        schedule.ended(.refused, at: Self.at(900), jitter: 0.5)
        #expect(schedule.next(at: Self.at(900)) == .at(Self.at(2_700)))
        schedule.begin()
        let (first, second) = (schedule.succeeded(), schedule.succeeded())
        #expect(first && !second)
    }

    @Test("every state leads to a run once holds are lifted and an event is accepted", arguments: 0..<20)
    func reachable(seed: Int) {
        let dice = Dice(seed)
        for _ in 0..<100 {
            var schedule = Self.fresh()
            var now = Self.start
            for _ in 0..<dice.below(30) {
                now = now.advanced(by: .seconds(dice.below(2_000)))
                switch dice.below(9) {
                case 0: schedule.accepted(dice.below(5), at: now)
                case 1: schedule.force()
                case 2, 3:
                    schedule.begin()
                    let endings: [DeliverySchedule.Ending] = [
                        .empty, .again, .held, .outage(), .outage(asked: .seconds(30)), .refused,
                        .waits(until: now.advanced(by: .seconds(5))),
                    ]
                    schedule.ended(endings[dice.below(endings.count)], at: now, jitter: dice.fraction())
                case 4: schedule.set(.offline, dice.below(2) == 0)
                case 5: schedule.set(.disabled, dice.below(2) == 0)
                case 6: schedule.resumeAfterRefusal()
                case 7: _ = schedule.succeeded()
                default: _ = schedule.next(at: now)
                }
            }
            schedule.set(.offline, false)
            schedule.set(.disabled, false)
            schedule.accepted(1, at: now)
            // However many failures: four hours plus a tenth is the longest wait.
            guard case .at(let moment) = schedule.next(at: now) else {
                #expect(schedule.next(at: now) == .now, "seed \(seed)")
                continue
            }
            #expect(moment <= now.advanced(by: .seconds(15_840)), "seed \(seed)")
            #expect(schedule.next(at: moment) == .now, "seed \(seed)")
        }
    }
}
