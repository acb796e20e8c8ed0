import Experimentation
import Testing

@testable import GatewayServer

@Suite("The check whether the database is away")
struct DatabaseSightTests {
    @Test("each check costs the same, however many came before")
    func flat() async {
        let sight = DatabaseSight { false }
        // One more wrapper for each check would have overflowed the stack by now.
        for _ in 0..<300_000 where sight.isAway { Issue.record("it isn't away") }
        sight.see { true }
        #expect(sight.isAway)
    }

    @Test("each handover to the database costs the same, however many came before")
    func carrying() async {
        let carrying = Carrying()
        let waiting = Waiting()
        #expect(await carrying.carry([nil], ifNot: { false }, counting: waiting) == [.outage()])
        carrying.begin { parcels in Array(repeating: .delivered, count: parcels.count) }
        for _ in 0..<100_000 {
            guard await carrying.carry([], ifNot: { false }, counting: waiting) == [] else { return }
        }
        #expect(await carrying.carry([nil], ifNot: { false }, counting: waiting) == [.delivered])
    }
}
