import AdapterKit
import Experimentation
import Testing

@testable import OFREPAdapter

/// What happens when the address of a stream is refused; all times are passed in.
@Suite("OFREP: refused addresses of streams")
struct RefusedStreamTests: StreamTests {
    var story: StreamStory

    init() throws { story = try StreamStory() }

    @Test("a new address is requested once when a stream's own is refused, and again once all streams have opened")
    mutating func expiredAddress() {
        open()
        _ = take(.ended(stream, .lost(Self.lost)), after: 10)
        _ = take(.time, after: 11)
        #expect(take(.ended(stream, .refused(Self.refused)), after: 11) == [.tellChange(.renewal)])
        // The answer names the same address: it stays refused, and the silence is reported.
        #expect(take(.announced([stream]), after: 12) == [])
        #expect(take(.time, after: 39) == [])
        #expect(take(.time, after: 40) == [.tellSilence(Self.refused)])
        #expect(take(.announced([other]), after: 50) == [.close(stream), .open(other)])
        #expect(take(.ended(other, .refused(Self.refused)), after: 51) == [])
        #expect(take(.announced([stream]), after: 60) == [.close(other), .open(stream)])
        _ = take(.opened(stream), after: 61)
        #expect(take(.time, after: 63) == [.tellChange(.gap)])
        #expect(take(.ended(stream, .refused(Self.refused)), after: 70) == [.tellChange(.renewal)])
    }

    @Test("a server that names new addresses in each answer and always refuses one of them is asked once a minute")
    mutating func halfRefused() throws {
        var told: [Double] = []
        for round in [0.0, 10, 20, 70, 80] {
            let good = try Samples.stream("https://events.example.com/a?\(round)")
            let bad = try Samples.stream("https://events.example.com/b?\(round)")
            let effects =
                take(.announced([good, bad]), after: round) + take(.opened(good), after: round + 1)
                + take(.ended(bad, .refused(Self.refused)), after: round + 2)
                + take(.time, after: round + 5)
            told += effects.contains(.tellChange(.renewal)) ? [round] : []
        }
        #expect(told == [0, 70])
    }

    @Test("streams refused while new addresses are being requested aren't reported as a silence before half a minute")
    mutating func refusedTogether() {
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        _ = take(.time, after: 2)
        _ = take(.ended(stream, .lost(Self.lost)), after: 10)
        _ = take(.ended(other, .lost(Self.lost)), after: 10)
        #expect(take(.time, after: 11) == [.open(stream), .open(other)])
        #expect(take(.ended(stream, .refused(Self.refused)), after: 11) == [.tellChange(.renewal)])
        #expect(take(.ended(other, .refused(Self.refused)), after: 11) == [])
        #expect(take(.time, after: 39.9) == [])
        #expect(take(.time, after: 40) == [.tellSilence(Self.refused)])
    }

    @Test("a refusal waits for the question that is planned, although an answer to an earlier one comes first")
    mutating func earlierAnswer() {
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        #expect(take(.time, after: 2) == [.tellChange(.gap)])
        #expect(take(.ended(stream, .refused(Self.refused)), after: 2.5) == [])
        #expect(take(.announced([stream, other]), after: 2.6) == [])
        #expect(take(.ended(other, .refused(Self.refused)), after: 2.7) == [])
        #expect(take(.time, after: 3) == [.tellChange(.renewal)])
        #expect(take(.announced([stream, other]), after: 4) == [])
        #expect(take(.time, after: 32.5) == [.tellSilence(Self.refused)])
    }

    @Test("an event and a refused address close together are one question, which names the event and no validator")
    mutating func eventAndRefusal() {
        let event = OFREPEvent(etag: "7")
        let both = OFREPCause(event: event, isRenewal: true)
        _ = take(.announced([stream, other]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        #expect(take(.time, after: 2) == [.tellChange(.gap)])
        #expect(take(.ended(other, .refused(Self.refused)), after: 2.5) == [])
        #expect(take(.event(stream, event), after: 2.6) == [])
        #expect(take(.time, after: 3) == [.tellChange(both)])
        _ = take(.announced([stream]), after: 3.5)
        #expect(take(.opened(stream), after: 3.5) == [])
        #expect(take(.event(stream, event), after: 70) == [])
        #expect(take(.ended(stream, .refused(Self.refused)), after: 70.02) == [.tellChange(both)])
        let change = OFREPChange(both, after: OFREPChange(.gap, after: nil))
        #expect(change.lastRenewal == change.number)
    }

    @Test("an event is named in questions about every answer from before it, whatever was announced since")
    func eventBeforeGap() {
        let event = OFREPEvent(etag: "7")
        let change = [OFREPCause.gap, .event(event), .gap].reduce(nil) { OFREPChange($1, after: $0) }
        #expect((0...3).map { change?.event(since: $0) } == [event, event, nil, nil])
    }

    @Test("of several events, a question names the validators of those after its answer, whichever event had them")
    func eventsOfOneConfiguration() {
        let events = [OFREPEvent(etag: "7"), OFREPEvent(lastModified: "8"), OFREPEvent()]
        let change = events.reduce(nil) { OFREPChange(.event($1), after: $0) }
        let expected = [OFREPEvent(etag: "7", lastModified: "8"), OFREPEvent(lastModified: "8"), nil, nil]
        #expect((0...3).map { change?.event(since: $0) } == expected)
    }

    @Test("no answer from before a renewal may be confirmed, whatever has been requested since")
    func renewalBeforeGap() {
        let change = [OFREPCause.gap, .renewal, .gap].reduce(nil) { OFREPChange($1, after: $0) }
        #expect(change?.lastRenewal == 2)
    }

    @Test(
        "a failed question is asked again after 1, 2, 4 … 60 s, or down to half of it by chance, until it is answered"
    )
    mutating func unanswered() {
        for jitter in [1.0, 0] {
            story.listening = OFREPListening()
            open()
            #expect(take(.ended(stream, .refused(Self.refused)), after: 10) == [.tellChange(.renewal)])
            var now = 10.0
            var waits: [Double] = []
            for _ in 0..<8 {
                // Of two users who share the stream, each has asked.
                _ = take(.failed(until: nil), after: now, jitter: jitter)
                _ = take(.failed(until: nil), after: now, jitter: jitter)
                var wait = 0.5
                while !take(.time, after: now + wait).contains(.tellChange(.gap)), wait < 100 { wait += 0.5 }
                waits.append(wait)
                now += wait
            }
            // Never sooner than a second after the last.
            #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { max(1, $0 * (0.5 + 0.5 * jitter)) })
            #expect(take(.announced([other]), after: now) == [.close(stream), .open(other)])
            _ = take(.opened(other), after: now)
            #expect(take(.time, after: now + 2) == [.tellChange(.gap)])
            #expect(listening.wake == nil)
        }
    }

    @Test("a question that fails is asked again some time after the end of the wait that the server asks for")
    mutating func waiting() {
        open()
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 10)
        #expect(take(.time, after: 10.05) == [.tellChange(.event(event))])
        let end = story.start.advanced(by: .seconds(3_600))
        #expect(take(.failed(until: end), after: 11, jitter: 0.5) == [])
        #expect(wait(from: 3_600) == .seconds(0.75))
        // The server would refuse any other question, too.
        let later = OFREPEvent(etag: "2")
        _ = take(.event(stream, later), after: 100)
        #expect(wait(from: 3_600) == .seconds(0.75))
        #expect(take(.time, after: 3_601) == [.tellChange(.event(later))])
    }

    @Test("a stream that is refused after a question has failed waits for the next one, too")
    mutating func refusedLater() {
        _ = take(.announced([stream, other]), after: 0)
        #expect(take(.ended(stream, .refused(Self.refused)), after: 10) == [.tellChange(.renewal)])
        #expect(take(.failed(until: nil), after: 10.1) == [])
        #expect(take(.ended(other, .refused(Self.refused)), after: 10.2) == [])
        #expect(take(.time, after: 11.1) == [.tellChange(.gap)])
    }

    @Test("a question that fails in the background is asked again on return, although all streams are open")
    mutating func failedOutOfSight() {
        open()
        _ = take(.sight(false), after: 5)
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 10)
        #expect(take(.time, after: 10.05) == [.tellChange(.event(event))])
        #expect(take(.failed(until: nil), after: 11) == [])
        #expect(listening.wake == story.start.advanced(by: .seconds(125)))
        #expect(take(.sight(true), after: 35) == [.tellChange(.gap)])
    }

    @Test("a question for new addresses that fails in the background is asked again on return")
    mutating func outOfSight() {
        open()
        _ = take(.sight(false), after: 5)
        #expect(take(.ended(stream, .refused(Self.refused)), after: 10) == [.tellChange(.renewal)])
        #expect(take(.failed(until: nil), after: 11) == [])
        #expect(take(.time, after: 30) == [])
        #expect(take(.sight(true), after: 35) == [.tellChange(.renewal)])
    }
}
