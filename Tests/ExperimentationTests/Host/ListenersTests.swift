import Testing

@testable import Experimentation

@Suite("Streams that end during an announcement")
struct ListenersTests {
    @Test("a cancelled listener and an announcement never wait for each other")
    func endedMeanwhile() async {
        for round in 0..<300 {
            let board = StatusBoard()
            await withTaskGroup { group in
                for _ in 0..<4 {
                    let events = board.events()
                    group.addTask { for await _ in events {} }
                }
                let announcing = Task {
                    for number in 0..<8 {
                        board.announce(.configurationChanged, number.isMultiple(of: 2) ? .ready : .stale)
                    }
                }
                if round.isMultiple(of: 2) { await Task.yield() }
                group.cancelAll()
                await announcing.value
            }
        }
    }

    @Test("a listener that buffers only the newest announcement gets that one")
    func newest() async {
        let listeners = Listeners<Int>()
        let (all, last) = (listeners.stream(), listeners.stream(buffering: .bufferingNewest(1)))
        for number in 1...3 { listeners.add(number) }
        listeners.finish()
        #expect(await all.reduce(into: []) { $0.append($1) } == [1, 2, 3])
        #expect(await last.reduce(into: []) { $0.append($1) } == [3])
    }

    @Test("every listener gets all announcements in order from its beginning to its end")
    func order() async {
        let listeners = Listeners<Int>()
        #expect(listeners.isEmpty)
        let first = listeners.stream(beginningWith: 0)
        listeners.add(1)
        let second = listeners.stream()
        listeners.add(2)
        listeners.tell()
        #expect(!listeners.isEmpty)
        listeners.finish()
        listeners.add(3)
        listeners.tell()
        #expect(await first.reduce(into: []) { $0.append($1) } == [0, 1, 2])
        #expect(await second.reduce(into: []) { $0.append($1) } == [2])
        #expect(listeners.isEmpty)
    }

    @Test("a listener that has ended is forgotten")
    func ended() async {
        let listeners = Listeners<Int>()
        let stream = listeners.stream()
        let listening = Task { for await _ in stream {} }
        listening.cancel()
        await listening.value
        #expect(listeners.isEmpty)
    }
}
