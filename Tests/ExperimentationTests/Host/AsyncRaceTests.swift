import Experimentation
import Testing

@Suite("A race", .timeLimit(.minutes(2)))
struct AsyncRaceTests {
    @Test("is won by the first value, whoever waits for it and whoever comes later")
    func first() async {
        let race = AsyncRace<Int?>()
        let waiters = (0..<10).map { _ in Task { await race.winner() } }
        race.finish(with: nil)
        race.finish(with: 2)
        for waiter in waiters { #expect(await waiter.value == .some(nil)) }
        #expect(await race.winner() == .some(nil))
    }

    @Test("has no winner for somebody who is cancelled before there is one")
    func cancelled() async {
        let race = AsyncRace<Int>()
        let waiter = Task { await race.winner() }
        waiter.cancel()
        #expect(await waiter.value == nil)
        race.finish(with: 1)
        #expect(await race.winner() == 1)
    }
}
