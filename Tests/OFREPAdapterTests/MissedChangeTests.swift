import AdapterKit
import Experimentation
import Testing

@testable import OFREPAdapter

/// Questions about changes that may have been missed; all times are passed in.
@Suite("OFREP: changes that may have been missed")
struct MissedChangeTests: StreamTests {
    var story: StreamStory

    init() throws { story = try StreamStory() }

    @Test(
        "changes between an answer and the opening of its stream are requested within two seconds, at a random time",
        arguments: [(0, 1), (0.5, 1.5), (1, 2)]
    )
    mutating func firstOpening(jitter: Double, seconds: Double) {
        _ = take(.announced([stream, other]), after: 0)
        #expect(take(.opened(stream), after: 1, jitter: jitter) == [])
        #expect(wait(from: 1) == .seconds(seconds))
        // One question is for both.
        #expect(take(.opened(other), after: 1, jitter: 1) == [])
        #expect(take(.time, after: 1 + seconds) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("an event isn't delayed by a question planned for later")
    mutating func soonerEvent() {
        _ = take(.announced([stream]), after: 0)
        _ = take(.opened(stream), after: 1)
        let event = OFREPEvent(etag: "1")
        #expect(take(.event(stream, event), after: 1.5) == [])
        #expect(wait(from: 1.5) == .milliseconds(50))
        #expect(take(.time, after: 1.55) == [.tellChange(.event(event))])
        #expect(listening.wake == nil)
    }

    @Test("a server that names a new address in each answer isn't asked again and again")
    mutating func rotating() throws {
        open()
        #expect(take(.announced([other]), after: 3) == [.open(other)])
        #expect(take(.opened(other), after: 4) == [.close(stream)])
        #expect(listening.wake == nil)
    }

    @Test("a server that closes the former stream before it names the new one is asked at most once a minute")
    mutating func closedBefore() throws {
        var asked: [Double] = []
        var answers: [Double] = [0]
        for second in 0..<300 {
            let now = Double(second)
            if let answered = answers.last, answered == now {
                let name = answers.count
                if name > 1 {
                    let former = try Samples.stream("https://events.example.com/\(name - 1)")
                    _ = take(.ended(former, .lost(Self.lost)), after: now)
                }
                let stream = try Samples.stream("https://events.example.com/\(name)")
                _ = take(.announced([stream]), after: now + 0.1)
                _ = take(.opened(stream), after: now + 0.2)
            }
            guard take(.time, after: now + 0.5).contains(.tellChange(.gap)) else { continue }
            asked.append(now)
            answers.append(now + 1)
        }
        #expect((4...7).contains(asked.count), "\(asked)")
    }

    @Test("a broken stream that is no longer announced causes no question if no other replaces it")
    mutating func leftBroken() {
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        #expect(take(.time, after: 2) == [.tellChange(.gap)])
        _ = take(.ended(other, .lost(Self.lost)), after: 10)
        #expect(take(.announced([stream]), after: 10.1) == [.close(other)])
        #expect(listening.wake == nil)
    }

    /// Ends the open stream and opens it again.
    ///
    /// - Returns: Whether changes are requested within nine seconds.
    private mutating func reopen(after second: Double) -> Bool {
        _ = take(.ended(stream, .lost(Self.lost)), after: second)
        // At the latest a second later.
        _ = take(.time, after: second + 1)
        let effects = take(.opened(stream), after: second + 1.5) + take(.time, after: second + 9)
        return effects.contains(.tellChange(.gap))
    }

    @Test("a server whose streams end again and again is asked each time at first, and then every 30 seconds")
    mutating func restless() {
        open()
        let seconds = stride(from: 10.0, to: 610, by: 10)
        let asked = seconds.filter { reopen(after: $0) }
        #expect(asked.prefix(9) == [10, 20, 30, 40, 50, 60, 70, 80, 90])
        let late = asked.filter { $0 >= 310 }
        #expect((9...11).contains(late.count), "\(asked)")
    }

    @Test("a server that accepts each address once isn't asked more often")
    mutating func singleUse() throws {
        var asked = 0
        for second in 0..<300 {
            let (former, new) = (second - 1, second)
            let now = Double(second)
            let old = try Samples.stream("https://events.example.com/\(former)")
            var effects: [OFREPListening.Effect] = []
            if second > 0 {
                effects += take(.ended(old, .lost(Self.lost)), after: now)
                effects += take(.time, after: now + 0.4, jitter: 0)
                effects += take(.ended(old, .refused(Self.refused)), after: now + 0.5)
            }
            let stream = try Samples.stream("https://events.example.com/\(new)")
            effects += take(.announced([stream]), after: now + 0.6)
            effects += take(.opened(stream), after: now + 0.7)
            asked += effects.count { if case .tellChange = $0 { true } else { false } }
        }
        #expect(asked <= 20, "\(asked)")
    }

    @Test("an event causes a question at once, however many streams have ended")
    mutating func eventAmongEnds() {
        open()
        for second in stride(from: 10.0, to: 310, by: 10) { _ = reopen(after: second) }
        #expect(!reopen(after: 310))
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 320)
        #expect(take(.time, after: 320.1) == [.tellChange(.event(event))])
    }

    @Test("a change that is announced while an open stream is being replaced is reported")
    mutating func handover() {
        open()
        _ = take(.announced([other]), after: 3)
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 3.5)
        #expect(take(.time, after: 4) == [.tellChange(.event(event))])
        #expect(take(.opened(other), after: 5) == [.close(stream)])
        #expect(take(.event(stream, event), after: 6) == [])
        #expect(take(.time, after: 7) == [])
    }

    @Test("open streams stay until all their replacements are open, whatever is announced meanwhile")
    mutating func handovers() throws {
        let streams = try (0..<4).map { try Samples.stream("https://events.example.com/\($0)") }
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        _ = take(.time, after: 2)
        #expect(take(.announced([streams[0], streams[1]]), after: 3) == [.open(streams[0]), .open(streams[1])])
        #expect(take(.opened(streams[1]), after: 4) == [])
        let effects = take(.announced([streams[2], streams[3]]), after: 5)
        #expect(effects == [.close(streams[0]), .close(streams[1]), .open(streams[2]), .open(streams[3])])
        #expect(take(.opened(streams[2]), after: 6) == [])
        #expect(take(.announced([streams[2], streams[3]]), after: 7) == [])
        #expect(take(.opened(streams[3]), after: 8) == [.close(stream), .close(other)])
        #expect(listening.wake == nil)
    }

    @Test("of several open streams that one replaces, none is closed before it is open")
    mutating func joinedStreams() throws {
        let third = try Samples.stream("https://events.example.com/c")
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        _ = take(.time, after: 2)
        #expect(take(.announced([third]), after: 3) == [.open(third)])
        let event = OFREPEvent(etag: "1")
        _ = take(.event(other, event), after: 3.5)
        #expect(take(.time, after: 4) == [.tellChange(.event(event))])
        #expect(take(.opened(third), after: 5) == [.close(stream), .close(other)])
        #expect(listening.wake == nil)
    }

    @Test("a server whose new addresses never open doesn't keep more and more former streams open")
    mutating func boundedHandovers() throws {
        var open: Set<OFREPStream> = []
        for round in 0..<20 {
            let streams = try (0..<8).map { try Samples.stream("https://events.example.com/\(round)/\($0)") }
            var effects = take(.announced([streams[0]]), after: Double(round))
            effects += take(.announced(streams), after: Double(round))
            for stream in streams.dropFirst() { effects += take(.opened(stream), after: Double(round)) }
            for effect in effects {
                switch effect {
                case .open(let stream): open.insert(stream)
                case .close(let stream): open.remove(stream)
                case .tellChange, .tellSilence: break
                }
            }
            #expect(open.count <= 2 * OFREPStream.most, "round \(round)")
        }
    }

    @Test("an open stream isn't replaced by one that was announced before, and closed if no other is announced")
    mutating func withdrawn() throws {
        let third = try Samples.stream("https://events.example.com/c")
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        #expect(take(.announced([other, third]), after: 1) == [.open(third)])
        #expect(take(.opened(other), after: 2) == [.tellChange(.gap)])
        #expect(take(.opened(third), after: 3) == [.close(stream)])
        #expect(take(.announced([third]), after: 4) == [.close(other)])
    }

    @Test("a stream that another was to replace stays if it is announced again, and isn't reopened if it ends before")
    mutating func formerStreams() {
        open()
        _ = take(.announced([other]), after: 3)
        #expect(take(.announced([stream]), after: 4) == [.close(other)])
        #expect(take(.time, after: 100) == [])
        _ = take(.announced([other]), after: 101)
        #expect(take(.ended(stream, .lost(Self.lost)), after: 102) == [.close(stream)])
        #expect(take(.time, after: 102.5) == [])
        #expect(take(.opened(other), after: 103) == [])
        #expect(take(.time, after: 105) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("a stream that another was to replace is closed for the background, and isn't reopened afterwards")
    mutating func formerStreamOutOfSight() {
        open()
        _ = take(.announced([other]), after: 3)
        _ = take(.sight(false), after: 4)
        #expect(take(.time, after: 124) == [.close(stream), .close(other)])
        #expect(take(.sight(true), after: 200) == [.open(other), .tellChange(.renewal)])
    }

    @Test("back in the foreground, changes are requested unless all streams are open")
    mutating func inSight() {
        #expect(take(.sight(true), after: 0) == [])
        _ = take(.sight(false), after: 1)
        #expect(take(.sight(true), after: 2) == [.tellChange(.gap)])
        _ = take(.announced([stream, other]), after: 10)
        _ = take(.opened(stream), after: 10)
        #expect(take(.time, after: 12) == [.tellChange(.gap)])
        _ = take(.sight(false), after: 20)
        #expect(take(.sight(true), after: 21) == [.tellChange(.gap)])
        _ = take(.opened(other), after: 22)
        #expect(take(.time, after: 24) == [.tellChange(.gap)])
        _ = take(.sight(false), after: 30)
        #expect(take(.sight(true), after: 31) == [])
    }

    @Test("an event doesn't limit the question after an absence")
    mutating func absence() {
        open()
        _ = take(.sight(false), after: 10)
        _ = take(.event(stream, OFREPEvent()), after: 129.9)
        #expect(take(.time, after: 130) == [.close(stream), .tellChange(.event(OFREPEvent()))])
        #expect(take(.sight(true), after: 130.5) == [.open(stream)])
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 130.6)
        #expect(take(.time, after: 131) == [.tellChange(OFREPCause(event: event, isRenewal: true))])
    }

    @Test("changes missed while a stream was closed are requested when it is open again, without an event")
    mutating func refetches() {
        open()
        _ = take(.ended(stream, .lost(Self.lost)), after: 10)
        #expect(take(.time, after: 11) == [.open(stream)])
        #expect(take(.opened(stream), after: 12) == [.tellChange(.gap)])
    }
}
