import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("When decisions are overdue")
struct ExpiryTests {
    static let moments: [(Duration, Bool)] = [
        (.seconds(-1e9), true), (.seconds(-1), true), (.milliseconds(-1), true),
        (.seconds(60), false), (.seconds(86_400), false), (.seconds(1e12), false),
    ]

    @Test("is determined by the machine's clocks", arguments: moments)
    func machine(away: Duration, isOver: Bool) {
        let time = SystemTime()
        let expiry = Expiry(at: time.instant.advanced(by: away), by: time)
        #expect(expiry.hasPassed == isOver)
    }

    @Test("is determined by an injected clock, however far it is from the machine's")
    func injected() {
        let time = ManualTime()
        let expiry = Expiry(at: time.instant.advanced(by: .seconds(60)), by: time)
        time.advance(by: .seconds(60))
        #expect(!expiry.hasPassed)
        time.advance(by: .nanoseconds(1))
        #expect(expiry.hasPassed)
    }

    #if os(Linux)
        @Test("the coarse clocks are used only for times that are certainly in the future")
        func coarse() throws {
            #expect(try #require(CoarseMoment(in: .seconds(60))).isSurelyAhead)
            #expect(try !#require(CoarseMoment(in: .zero)).isSurelyAhead)
            #expect(try !#require(CoarseMoment(in: .seconds(-60))).isSurelyAhead)
        }

        @Test("the coarse clocks are not trusted once they have drifted apart")
        func sleep() throws {
            #expect(try !#require(CoarseMoment(in: .seconds(60), slept: 2_000_000_000)).isSurelyAhead)
            #expect(try #require(CoarseMoment(in: .seconds(60), slept: 500_000_000)).isSurelyAhead)
        }
    #endif
}
