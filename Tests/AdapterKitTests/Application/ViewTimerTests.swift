import Testing

@testable import AdapterKit

@Suite("View time")
struct ViewTimerTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func timer(viewing subject: String? = "p", isRunning: Bool = true) -> ViewTimer<String> {
        var timer = ViewTimer<String>(portions: .seconds(2)...(.seconds(60)))
        _ = timer.view(subject, at: at(0))
        _ = timer.run(isRunning, at: at(0))
        return timer
    }

    private func portion(_ subject: String, _ seconds: Int) -> ViewTimer<String>.Portion {
        ViewTimer<String>.Portion(subject: subject, time: .seconds(seconds))
    }

    @Test("time is reported when a portion is full, when something else is viewed, and when it stops")
    func reported() {
        var timer = self.timer()
        #expect(timer.nextPortion == at(60))
        #expect(timer.advance(to: at(59)) == [])
        #expect(timer.advance(to: at(125)) == [portion("p", 60), portion("p", 60)])
        #expect(timer.nextPortion == at(180))
        #expect(timer.view("q", at: at(130)) == [portion("p", 10)])
        #expect(timer.run(false, at: at(133)) == [portion("q", 3)])
        #expect(timer.nextPortion == nil)
        #expect(timer.advance(to: at(500)) == [])
    }

    @Test("less than the shortest portion is reported with what follows, unless something else is viewed")
    func short() {
        var timer = self.timer()
        #expect(timer.run(false, at: at(1)) == [])
        #expect(timer.run(true, at: at(10)) == [])
        #expect(timer.run(false, at: at(12)) == [portion("p", 3)])
        _ = timer.run(true, at: at(20))
        #expect(timer.view("q", at: at(21)) == [])
        #expect(timer.view(nil, at: at(25)) == [portion("q", 4)])
    }

    @Test("a conclusion drops what is too short, and a discard everything; the view continues")
    func concluded() {
        var timer = self.timer()
        #expect(timer.conclude(at: at(5)) == [portion("p", 5)])
        #expect(timer.conclude(at: at(6)) == [])
        timer.discard(at: at(30))
        #expect(timer.view(nil, at: at(33)) == [portion("p", 3)])
    }

    @Test("no time counts while nothing is viewed, or the timer is stopped")
    func idle() {
        var nothing = self.timer(viewing: nil)
        #expect(nothing.nextPortion == nil)
        #expect(nothing.view("p", at: at(100)) == [])
        #expect(nothing.advance(to: at(159)) == [])
        var stopped = self.timer(isRunning: false)
        #expect(stopped.advance(to: at(100)) == [])
    }
}
