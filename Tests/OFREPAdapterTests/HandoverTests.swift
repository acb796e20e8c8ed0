import AdapterKit
import Experimentation
import Testing

@testable import OFREPAdapter

/// What is received, requested and reported while some streams replace others; all times are passed in.
@Suite("OFREP: streams that replace others")
struct HandoverTests: StreamTests {
    var story: StreamStory
    private let a2: OFREPStream
    private let b2: OFREPStream

    init() throws {
        story = try StreamStory()
        a2 = try Samples.stream("https://events.example.com/a2")
        b2 = try Samples.stream("https://events.example.com/b2")
    }

    private mutating func openBoth() {
        _ = take(.announced([other, stream]), after: 0)
        _ = take(.opened(stream), after: 0)
        _ = take(.opened(other), after: 0)
        _ = take(.time, after: 2)
    }

    @Test("open streams stay until all their replacements are open, in whatever order; then no question is asked")
    mutating func order() {
        openBoth()
        #expect(take(.announced([b2, a2]), after: 3) == [.open(b2), .open(a2)])
        #expect(take(.opened(b2), after: 4) == [])
        let event = OFREPEvent(etag: "1")
        #expect(take(.event(stream, event), after: 5) == [])
        #expect(take(.time, after: 5.1) == [.tellChange(.event(event))])
        #expect(take(.opened(a2), after: 6) == [.close(stream), .close(other)])
        #expect(listening.wake == nil)
    }

    @Test("a stream that replaces no open one causes one question once all are open")
    mutating func addition() {
        open()
        _ = take(.announced([a2, other]), after: 3)
        #expect(take(.opened(a2), after: 4) == [])
        #expect(take(.time, after: 23) == [])
        #expect(take(.opened(other), after: 24) == [.close(stream)])
        #expect(take(.time, after: 26) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("changes that a broken stream missed are requested when its replacement is open")
    mutating func broken() {
        openBoth()
        _ = take(.ended(other, .lost(Self.lost)), after: 3)
        #expect(take(.announced([a2, b2]), after: 3.1) == [.close(other), .open(a2), .open(b2)])
        #expect(take(.opened(a2), after: 4) == [])
        #expect(take(.opened(b2), after: 5) == [.close(stream)])
        #expect(take(.time, after: 7) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("a stream that ends before its replacement is open causes a question")
    mutating func early() {
        open()
        _ = take(.announced([other]), after: 3)
        #expect(take(.ended(stream, .lost(Self.lost)), after: 4) == [.close(stream)])
        #expect(take(.opened(other), after: 29) == [])
        #expect(take(.time, after: 31) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("a server that names new addresses in each answer, and closes the old too early, is asked once a minute")
    mutating func earlyEachTime() throws {
        open()
        var (last, told) = (stream, [Double]())
        for second in 3..<150 {
            let moment = Double(second)
            guard take(.time, after: moment).contains(.tellChange(.gap)) || second == 3 else { continue }
            told.append(moment)
            let next = try Samples.stream("https://events.example.com/a?\(second)")
            _ = take(.announced([next]), after: moment)
            _ = take(.ended(last, .lost(Self.lost)), after: moment)
            _ = take(.opened(next), after: moment)
            last = next
        }
        #expect(told == [3, 5, 65, 125])
    }

    @Test("while former streams receive everything, no silence is reported, however long the new ones take to open")
    mutating func slow() {
        open()
        _ = take(.announced([other]), after: 3)
        var effects: [OFREPListening.Effect] = []
        for second in 4..<100 { effects += take(.time, after: Double(second)) }
        #expect(!effects.isEmpty)
        #expect(effects.allSatisfy { $0 == .open(other) || $0 == .close(other) })
        _ = take(.ended(stream, .lost(Self.lost)), after: 100)
        #expect(take(.time, after: 129.9).allSatisfy { $0 == .open(other) || $0 == .close(other) })
        effects = take(.time, after: 130)
        #expect(effects.contains(where: isSilence))
    }

    @Test("a former stream stays if its replacement is refused; its end is reported as a silence")
    mutating func refused() {
        let gone = ExperimentationError(.vendorFault, "gone")
        open()
        _ = take(.announced([other]), after: 3)
        #expect(take(.ended(other, .refused(gone)), after: 5) == [])
        #expect(take(.time, after: 60) == [])
        let event = OFREPEvent(etag: "1")
        _ = take(.event(stream, event), after: 70)
        #expect(take(.time, after: 71) == [.tellChange(.event(event))])
        #expect(take(.announced([other]), after: 72) == [])
        #expect(take(.ended(stream, .lost(Self.lost)), after: 100) == [.close(stream), .tellSilence(Self.lost)])
    }

    @Test("a former stream that doesn't receive everything is closed if its replacement is refused")
    mutating func refusedAndBroken() {
        let gone = ExperimentationError(.vendorFault, "gone")
        openBoth()
        _ = take(.ended(other, .lost(Self.lost)), after: 3)
        _ = take(.announced([a2, b2]), after: 3.1)
        #expect(take(.opened(a2), after: 4) == [])
        #expect(take(.ended(b2, .refused(gone)), after: 5) == [.close(stream), .tellSilence(gone)])
        #expect(take(.time, after: 7) == [.tellChange(.gap)])
    }

    @Test("streams that were closed because of a refused one don't count later as receiving everything")
    mutating func refusedAddition() {
        let gone = ExperimentationError(.vendorFault, "gone")
        open()
        _ = take(.announced([a2, other]), after: 3)
        _ = take(.opened(a2), after: 4)
        #expect(take(.ended(other, .refused(gone)), after: 5) == [.close(stream), .tellSilence(gone)])
        #expect(take(.time, after: 7) == [.tellChange(.gap)])
        #expect(take(.announced([b2]), after: 10) == [.close(other), .open(b2)])
        #expect(take(.opened(b2), after: 11) == [.close(a2)])
        #expect(take(.time, after: 67) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("an additional stream that doesn't open is reported as a silence, although all others are open")
    mutating func missing() {
        open()
        _ = take(.announced([a2, other]), after: 3)
        _ = take(.opened(a2), after: 4)
        let effects = take(.time, after: 33)
        #expect(effects.contains(where: isSilence))
    }

    private func isSilence(_ effect: OFREPListening.Effect) -> Bool {
        if case .tellSilence = effect { true } else { false }
    }

    @Test("a stream that never opens doesn't prevent questions about changes that others missed, at most one a minute")
    mutating func neverOpening() {
        open()
        _ = take(.announced([a2, b2, other]), after: 3)
        _ = take(.ended(stream, .lost(Self.lost)), after: 4)
        _ = take(.opened(a2), after: 6)
        var told: [Double] = []
        var silences: [Double] = []
        for second in 7..<200 {
            let moment = Double(second)
            if second == 50 { _ = take(.opened(b2), after: moment) }
            let effects = take(.time, after: moment)
            if effects.contains(.open(other)) { _ = take(.ended(other, .lost(Self.lost)), after: moment) }
            if effects.contains(.tellChange(.gap)) { told.append(moment) }
            if effects.contains(where: isSilence) { silences.append(moment) }
        }
        #expect(silences == [33])
        #expect(told == [35, 95])
    }

    @Test("a stream that is refused doesn't bring forward the question that waits until the others are open")
    mutating func refusedEarly() {
        open()
        _ = take(.announced([a2, b2, other]), after: 3)
        _ = take(.opened(a2), after: 4)
        let gone = ExperimentationError(.vendorFault, "gone")
        #expect(take(.ended(other, .refused(gone)), after: 5) == [.tellSilence(gone)])
        #expect(take(.time, after: 8) == [])
        #expect(take(.opened(b2), after: 9) == [.close(stream)])
        #expect(take(.time, after: 11) == [.tellChange(.gap)])
        #expect(listening.wake == nil)
    }

    @Test("while no stream is open, a reported silence causes no question; the first that opens does")
    mutating func noneOpening() {
        open()
        _ = take(.announced([a2, other]), after: 3)
        _ = take(.ended(stream, .lost(Self.lost)), after: 4)
        for opened in [a2, other] { _ = take(.ended(opened, .lost(Self.lost, after: .seconds(90))), after: 5) }
        #expect(take(.time, after: 34).contains(where: isSilence))
        #expect(take(.time, after: 94) == [])
        #expect(take(.time, after: 95) == [.open(a2), .open(other)])
        #expect(take(.opened(a2), after: 96) == [])
        #expect(take(.time, after: 98) == [.tellChange(.gap)])
    }

    @Test("an answer to an earlier question doesn't count as the answer to the one for new addresses")
    mutating func earlierAnswer() {
        openBoth()
        #expect(take(.ended(stream, .refused(Self.refused)), after: 10) == [.tellChange(.renewal)])
        _ = take(.announced([stream, other]), after: 10.1)
        #expect(take(.ended(other, .refused(Self.refused)), after: 10.2) == [])
        #expect(take(.time, after: 39.9) == [])
        #expect(take(.time, after: 40) == [.tellSilence(Self.refused)])
    }

    @Test("an event without a configuration doesn't hide the previous event's configuration")
    mutating func bareEvent() {
        open()
        _ = take(.event(stream, OFREPEvent(etag: "7")), after: 10)
        _ = take(.event(stream, OFREPEvent(lastModified: "8")), after: 10.01)
        _ = take(.event(stream, OFREPEvent()), after: 10.02)
        let event = OFREPEvent(etag: "7", lastModified: "8")
        #expect(take(.time, after: 10.05) == [.tellChange(.event(event))])
    }
}
