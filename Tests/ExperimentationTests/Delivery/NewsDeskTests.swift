import Synchronization
import Testing

@testable import Experimentation

@Suite("News reach whoever reads them")
struct NewsDeskTests {
    @Test("the thousandth piece of news needs no more of the stack than the first")
    func stack() {
        let depths = Mutex<[UInt]>([])
        let desk = NewsDesk()
        desk.open { _ in
            var here = 0
            let depth = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
            depths.withLock { $0.append(depth) }
        }
        for _ in 0..<1_000 { desk.take(Outbox.News()) }
        let taken = depths.withLock { $0 }
        #expect(taken.count == 1_000)
        #expect(taken.first == taken.last)
    }

    @Test("what comes before there is a reader is lost, and what comes later goes to the last who opened")
    func readers() {
        let read = Mutex<[String]>([])
        let desk = NewsDesk()
        desk.take(Outbox.News())
        desk.open { _ in read.withLock { $0.append("first") } }
        desk.take(Outbox.News())
        desk.open { _ in read.withLock { $0.append("second") } }
        desk.take(Outbox.News(isDisabled: true))
        #expect(read.withLock { $0 } == ["first", "second"])
    }
}
