import Experimentation
import Testing

@Suite("A race", .timeLimit(.minutes(10)))
struct AsyncRaceTests {
    @Test("returns the first value to current and later waiters")
    func first() async {
        let race = AsyncRace<Int?>()
        let waiters = (0..<10).map { _ in Task { await race.winner() } }
        race.finish(with: nil)
        race.finish(with: 2)
        for waiter in waiters { #expect(await waiter.value == .some(nil)) }
        #expect(await race.winner() == .some(nil))
    }

    @Test("returns nothing to a task that is cancelled before there is a value")
    func cancelled() async {
        let race = AsyncRace<Int>()
        let waiter = Task { await race.winner() }
        waiter.cancel()
        #expect(await waiter.value == nil)
        race.finish(with: 1)
        #expect(await race.winner() == 1)
    }
}
