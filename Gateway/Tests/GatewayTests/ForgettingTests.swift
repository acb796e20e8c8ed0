import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("Ids of past days")
struct ForgettingTests {
    private static func taken(_ id: String) -> [Result<EventRequest, EventRefusal>] {
        let user = User(id: "ada", consent: .granted)
        return [.success(EventRequest(id: id, user: user, isConsentStated: true, event: .installed, date: nil))]
    }

    private static func keys(_ state: any StateStore) async throws -> [String] {
        try await state.keys(beginningWith: FailingState.prefix)
    }

    @Test("they are deleted two days after acceptance, without a restart, once a day")
    func withoutRestart() async throws {
        let state = FailingState(baseState: InMemoryStateStore())
        let client = try await ExperimentationClient(provider: Served.publisher())
        let time = ManualTime()
        let intake = try await EventIntake(client, seen: SeenEvents(state: state, time: time, isShared: false))
        let seen = intake.seen
        var days: [Int] = []
        for number in 0..<4 {
            #expect(await intake.take(Self.taken("\(number)")) == [.accepted])
            days.append(seen.today)
            try await intake.forget()
            let left = (0...number).suffix(2).map { seen.key(SeenEvents.digest("\($0)"), day: days[$0]) }
            #expect(try await Self.keys(state) == left)
            time.advance(by: .seconds(86_400))
        }
        // Ids left by earlier runs, however old, are deleted as well: some days with each look.
        let old = seen.key("old", day: seen.today - 300)
        try await state.setValue([1], for: old)
        let next = try await EventIntake(client, seen: seen)
        try await next.forget()
        #expect(Set(try await Self.keys(state)) == [seen.key(SeenEvents.digest("3"), day: days[3]), old])
        for _ in 0..<50 { try await next.forget() }
        #expect(try await Self.keys(state) == [seen.key(SeenEvents.digest("3"), day: days[3])])
        // That day is done.
        try await state.setValue([1], for: old)
        try await next.forget()
        #expect(try await Self.keys(state).contains(old))
        await client.shutdown(within: .zero)
    }

    @Test("a store that can't delete them prevents no start, and they are deleted later, in portions")
    func portions() async throws {
        let count = 8_000
        let removals = Shared(2)
        let state = FailingState(baseState: InMemoryStateStore(), removals: removals)
        let client = try await ExperimentationClient(provider: Served.publisher())
        let time = ManualTime()
        let seen = SeenEvents(state: state, time: time, isShared: false)
        for number in 0..<count { try await seen.insert(SeenEvents.digest("\(number)")) }
        time.advance(by: .seconds(2 * 86_400))
        let intake = try await EventIntake(client, seen: seen)
        for _ in 0..<2 {
            await #expect { try await intake.forget() } throws: { ($0 as? ExperimentationError)?.code == .store }
        }
        #expect(await intake.take(Self.taken("new")) == [.accepted])
        try await intake.forget()
        #expect(try await Self.keys(state) == [seen.key(SeenEvents.digest("new"), day: seen.today)])
        #expect((1...1_000).contains(state.largestRemoval.value))
        await client.shutdown(within: .zero)
    }

    @Test("a gateway that serves deletes them by itself")
    func served() async throws {
        let (provider, time) = (Served.publisher(), ManualTime())
        try await Served.run(over: provider, provider, time: time) { served in
            let intake = served.gateway.responder.tenants.tenants[0].connection.intake
            let seen = intake.seen
            let day = seen.key("", day: seen.today)
            #expect(await intake.take(Self.taken("a")) == [.accepted])
            #expect(try await seen.state.keys(beginningWith: day).count == 1)
            time.advance(by: .seconds(2 * 86_400))
            try await eventually("the id is deleted") {
                time.advance(by: .seconds(60))
                return try await seen.state.keys(beginningWith: day).isEmpty
            }
        }
    }
}
