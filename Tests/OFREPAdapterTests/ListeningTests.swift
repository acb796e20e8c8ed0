import AdapterKit
import Experimentation
import Testing

@testable import OFREPAdapter

/// When streams are opened and changes reported; all times are passed in.
@Suite("OFREP: handling of event streams")
struct ListeningTests: StreamTests {
    var story: StreamStory

    init() throws { story = try StreamStory() }

    @Test("an announced stream is opened once; one that is no longer announced is closed")
    mutating func announced() {
        #expect(take(.announced([stream]), after: 0) == [.open(stream)])
        #expect(take(.announced([stream]), after: 1) == [])
        #expect(take(.opened(stream), after: 1) == [])
        #expect(take(.announced([other]), after: 2) == [.open(other)])
        #expect(take(.announced([]), after: 2.5) == [.close(other), .close(stream)])
        #expect(take(.time, after: 3) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test(
        "after the server's delay in the background a stream is closed without a silence; in the foreground it is reopened and flags are asked for"
    )
    mutating func outOfSight() {
        open()
        #expect(take(.sight(false), after: 10) == [])
        #expect(wait(from: 10) == .seconds(120))
        #expect(take(.time, after: 129.9) == [])
        #expect(take(.time, after: 130) == [.close(stream)])
        #expect(listening.wake == nil)
        #expect(take(.time, after: 900) == [])
        #expect(take(.sight(true), after: 901) == [.open(stream), .tellChange(.renewal)])
        #expect(take(.opened(stream), after: 902) == [])
        #expect(take(.time, after: 904) == [.tellChange(.gap)])
    }

    @Test("a process that was suspended in the background reopens its streams and requests flags on its return")
    mutating func suspended() {
        open()
        _ = take(.sight(false), after: 10)
        #expect(take(.sight(true), after: 200) == [.close(stream), .open(stream), .tellChange(.renewal)])
        #expect(take(.opened(stream), after: 201) == [])
        #expect(take(.time, after: 203) == [.tellChange(.gap)])
    }

    @Test("returning to the foreground earlier changes nothing")
    mutating func shortlyOutOfSight() {
        open()
        _ = take(.sight(false), after: 10)
        #expect(take(.sight(false), after: 100) == [])
        #expect(take(.sight(true), after: 129) == [])
        #expect(take(.time, after: 500) == [])
        #expect(listening.wake == nil)
    }

    @Test(
        "the delay is the server's, or 120 s",
        arguments: [
            ("30", 30), ("1", 1), ("0", 120), ("-5", 120), ("2.5", 120), ("\"30\"", 120), ("1e300", 120), ("null", 120),
            ("99999999", 86_400),
        ]
    )
    func delay(written: String, seconds: Int) throws {
        let entry = try JSON.parse(
            Array(#"{"type":"sse","url":"https://e.example.com/a","inactivityDelaySec":\#(written)}"#.utf8)
        )
        let announcement = try #require(OFREPStream.Announcement(entry))
        let stream = try #require(try OFREPStream(announcement, of: Endpoint("https://flags.example.com")))
        #expect(stream.inactivityDelay == .seconds(seconds))
    }

    @Test("no more than eight streams are open")
    mutating func bounded() throws {
        let streams = try (0..<20).map { try Samples.stream("https://events.example.com/\($0)") }
        #expect(take(.announced(streams), after: 0) == streams.prefix(8).map { .open($0) })
    }

    @Test("events within 50 ms are one change, reported with the last of them")
    mutating func debounced() {
        open()
        #expect(take(.event(stream, OFREPEvent(etag: "1")), after: 10) == [])
        #expect(wait(from: 10) == .milliseconds(50))
        #expect(take(.event(stream, OFREPEvent(etag: "2")), after: 10.03) == [])
        #expect(take(.time, after: 10.05) == [.tellChange(.event(OFREPEvent(etag: "2")))])
        #expect(listening.wake == nil)
    }

    @Test("a server that announces a change after each question gets one question a second")
    mutating func storm() {
        open()
        var told = 0
        for step in 0..<1_000 {
            let moment = 10 + Double(step) / 100
            let effects = take(.event(stream, OFREPEvent()), after: moment) + take(.time, after: moment)
            told += effects.count
        }
        #expect(told == 10)
    }

    @Test(
        "a stream that breaks is reopened after 1, 2, 4 … 60 s, or down to half of it by chance",
        arguments: [1.0, 0]
    )
    mutating func backsOff(jitter: Double) {
        _ = take(.announced([stream]), after: 0)
        var waits: [Duration?] = []
        var now = 0.0
        for _ in 0..<8 {
            _ = take(.ended(stream, .lost(Self.lost)), after: now, jitter: jitter)
            var wait = 0.0
            while take(.time, after: now + wait).contains(.open(stream)) == false { wait += 0.5 }
            waits.append(.seconds(wait))
            now += wait
        }
        let share = 0.5 + 0.5 * jitter
        #expect(waits == [1.0, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0 * share) })
    }

    @Test("the waits of a stream that was open for a while start over at 1 s; those of one that ends at once don't")
    mutating func forgetsFailures() {
        _ = take(.announced([stream]), after: 0)
        for (opened, ended, wait) in [(0.0, 0.0, 1.0), (1, 1, 2), (3, 3, 4), (7, 12, 1)] {
            _ = take(.time, after: opened)
            _ = take(.opened(stream), after: opened)
            _ = take(.time, after: opened + 1)
            _ = take(.ended(stream, .lost(Self.lost)), after: ended)
            #expect(self.wait(from: ended) == .seconds(wait), "opened at \(opened)")
        }
    }

    @Test("half a minute without a stream is reported, once, and ends when all are open")
    mutating func grace() {
        open()
        var told: [Double] = []
        func tells(_ effects: [OFREPListening.Effect], _ moment: Double) {
            if effects.contains(.tellSilence(Self.lost)) { told.append(moment) }
        }
        tells(take(.ended(stream, .lost(Self.lost)), after: 100), 100)
        for step in 1...120 {
            let moment = 100 + Double(step)
            let effects = take(.time, after: moment)
            tells(effects, moment)
            if effects.contains(.open(stream)) {
                tells(take(.ended(stream, .lost(Self.lost)), after: moment), moment)
            }
        }
        #expect(told == [130])
        #expect(take(.time, after: 300) == [.open(stream)])
        #expect(take(.opened(stream), after: 301) == [.tellChange(.gap)])
        #expect(take(.time, after: 400) == [])
    }

    @Test("a short interruption is never reported as a silence")
    mutating func shortBreak() {
        open()
        _ = take(.ended(stream, .lost(Self.lost)), after: 10)
        _ = take(.time, after: 11)
        #expect(take(.opened(stream), after: 39) == [.tellChange(.gap)])
        #expect(take(.time, after: 1_000) == [])
    }

    @Test("a stream that is closed permanently is reported at once and never reopened")
    mutating func refused() {
        let error = ExperimentationError(.vendorFault, "gone")
        _ = take(.announced([stream]), after: 0)
        #expect(take(.ended(stream, .refused(error)), after: 1) == [.tellSilence(error)])
        #expect(listening.wake == nil)
        #expect(take(.time, after: 100_000) == [])
        #expect(take(.announced([stream]), after: 100_000) == [])
    }

    @Test("a stream that doesn't open within half a minute is closed and tried again")
    mutating func hangs() {
        _ = take(.announced([stream]), after: 0)
        let effects = take(.time, after: 30)
        #expect(effects.first == .close(stream))
        #expect(wait(from: 30) == .seconds(1))
    }

    @Test("a server's requested wait is respected")
    mutating func patience() {
        _ = take(.announced([stream]), after: 0)
        _ = take(.ended(stream, .lost(Self.lost, after: .seconds(20))), after: 0)
        #expect(wait(from: 0) == .seconds(20))
    }

    @Test("events of streams that are no longer announced are ignored")
    mutating func strangers() {
        _ = take(.announced([stream]), after: 0)
        #expect(take(.event(other, OFREPEvent()), after: 1) == [])
        #expect(take(.opened(other), after: 1) == [])
        #expect(take(.ended(other, .lost(Self.lost)), after: 1) == [])
        #expect(take(.time, after: 2) == [])
    }
}
