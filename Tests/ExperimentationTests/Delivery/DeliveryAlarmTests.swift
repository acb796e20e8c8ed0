import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("A destination's task is woken when its schedule changes")
struct DeliveryAlarmTests {
    private let time = ManualTime()
    private let alarm: DeliveryAlarm

    init() { alarm = DeliveryAlarm(BatchPolicy(count: 2, interval: .seconds(5)), by: time) }

    /// Changes that are made while the task rests without an end, and whether they wake it.
    private static let changes: [(String, @Sendable (inout DeliverySchedule, ContinuousClock.Instant) -> Void, Bool)] =
        [
            ("an event is accepted", { $0.accepted(1, at: $1) }, true),
            ("a batch is full", { $0.accepted(2, at: $1) }, true),
            ("a flush", { schedule, _ in schedule.force() }, true),
            ("a hold is set", { schedule, _ in schedule.set(.offline, true) }, false),
            ("a hold that isn't set is lifted", { schedule, _ in schedule.set(.offline, false) }, false),
        ]

    @Test("a change wakes the task only if it changes what the task does next", arguments: changes.indices)
    func wakes(index: Int) throws {
        let (name, change, wakes) = Self.changes[index]
        let rest = try #require(alarm.rest())
        #expect(rest.end == nil)
        alarm.change(change)
        #expect(rest.changed.isOpen == wakes, "\(name)")
    }

    @Test("the task rests until the oldest event has waited long enough, and a second event doesn't wake it")
    func interval() throws {
        alarm.change { $0.accepted(1, at: $1) }
        var rest = try #require(alarm.rest())
        #expect(rest.end == time.instant.advanced(by: .seconds(5)))
        time.advance(by: .seconds(5))
        #expect(alarm.rest() == nil)
        alarm.change { schedule, _ in schedule.begin() }
        alarm.change { $0.accepted(1, at: $1) }
        time.advance(by: .seconds(1))
        rest = try #require(alarm.rest())
        alarm.change { $0.accepted(0, at: $1) }
        #expect(!rest.changed.isOpen)
        alarm.change { $0.accepted(1, at: $1) }
        #expect(rest.changed.isOpen)
        #expect(alarm.rest() == nil)
    }

    @Test("a change that comes before the rest isn't missed")
    func before() {
        alarm.change { schedule, _ in schedule.force() }
        #expect(alarm.rest() == nil)
    }

    @Test("the end wakes the task even while a hold keeps it resting")
    func close() throws {
        alarm.change { schedule, _ in schedule.set(.disabled, true) }
        let rest = try #require(alarm.rest())
        alarm.close()
        #expect(rest.changed.isOpen)
        #expect(alarm.holds == [.disabled, .closed])
    }
}
