import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import GatewayServer

@Suite("Ids of events, over several instances")
struct SeenEventsTests {
    /// Two seconds before midnight.
    private static let evening = Date(timeIntervalSince1970: 1_795_305_598)

    private let state = InMemoryStateStore()
    private let time = ManualTime(now: evening)

    private func instance(ahead seconds: Double = 0) -> SeenEvents {
        guard seconds != 0 else { return SeenEvents(state: state, time: time, isShared: true) }
        return SeenEvents(state: state, time: ManualTime(now: Self.evening + seconds), isShared: true)
    }

    @Test("an id claimed before midnight isn't claimed by another instance after it")
    func midnight() async throws {
        let (first, second) = (instance(), instance())
        #expect(try await first.claim("a") == .claimed)
        time.advance(by: .seconds(4))
        #expect(try await second.claim("a") == .elsewhere)
        try await first.insert("a")
        #expect(try await second.claim("a") == .seen)
        // An id whose claim was given up after midnight is free.
        time.advance(by: .seconds(86_400 - 4))
        #expect(try await first.claim("b") == .claimed)
        time.advance(by: .seconds(4))
        try await first.giveBack("b")
        #expect(try await second.claim("b") == .claimed)
    }

    @Test("an id claimed after midnight isn't claimed by an instance whose clock is behind")
    func behind() async throws {
        let (ahead, behind) = (instance(ahead: 4), instance())
        #expect(try await ahead.claim("a") == .claimed)
        #expect(try await behind.claim("a") == .elsewhere)
        try await ahead.insert("a")
        #expect(try await behind.claim("a") == .seen)
    }

    @Test("an instance that returns an id doesn't end another instance's claim")
    func giveBack() async throws {
        let (first, second, third) = (instance(), instance(), instance())
        time.advance(by: .seconds(-3_600))
        #expect(try await first.claim("a") == .claimed)
        time.advance(by: .seconds(21))
        #expect(try await second.claim("a") == .taken)
        try await first.giveBack("a")
        #expect(try await third.claim("a") == .elsewhere)
        try await second.giveBack("a")
        #expect(try await third.claim("a") == .claimed)
    }

    @Test("an expired claim is taken over after midnight too, by the instance that made it and by others")
    func takenOver() async throws {
        let (first, second) = (instance(), instance())
        for id in ["a", "b", "c"] { #expect(try await first.claim(id) == .claimed) }
        time.advance(by: .seconds(4))
        #expect(try await first.claim("a") == .taken)
        #expect(try await second.claim("b") == .elsewhere)
        time.advance(by: .seconds(21))
        #expect(try await second.claim("b") == .taken)
        // No instance claims under the other day any more.
        time.advance(by: .seconds(3_600))
        #expect(try await second.claim("c") == .taken)
    }

    @Test("an instance that yields restores the expired claim that it took over, so that the event is looked for")
    func givesWay() async throws {
        let (gone, behind, ahead) = (instance(), instance(), instance(ahead: 4))
        time.advance(by: .seconds(-30))
        #expect(try await gone.claim("a") == .claimed)
        let key = gone.key("a", day: gone.today)
        let claim = try await state.value(for: key)
        time.advance(by: .seconds(30))
        #expect(try await ahead.claim("a") == .taken)
        #expect(try await behind.claim("a") == .elsewhere)
        #expect(claim != nil)
        #expect(try await state.value(for: key) == claim)
    }
}
