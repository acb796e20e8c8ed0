import Testing

@testable import GatewayServer

@Suite("Changes that a stream's client hasn't been notified of")
struct StreamProgressTests {
    @Test("a count of changes that arrives after a greater one undoes nothing")
    func overtaken() throws {
        var progress = StreamProgress(told: 5)
        let changed = progress.take(6, isReading: false)
        #expect(changed == nil)
        // A heartbeat from before the change.
        let beaten = progress.take(5, isReading: false)
        #expect(beaten == nil)
        let due = try #require(progress.due)
        let news = progress.take(due, isReading: true)
        #expect(try #require(news) == (6, 5))
        let late = progress.take(5, isReading: true)
        #expect(try #require(late) == (5, 6))
        #expect(progress.due == nil)
    }
}
