import AdapterKit
import Testing

@Suite("The user's attention")
struct AttentionTests {
    @Test("a user is there while the application is in the foreground and in use")
    func there() {
        let start = ContinuousClock.now
        var attention = Attention(at: start)
        #expect(attention.isThere)
        #expect(attention.idleMoment(after: .seconds(60)) == start.advanced(by: .seconds(60)))
        attention.grewIdle()
        #expect(!attention.isThere && attention.idleMoment(after: .seconds(60)) == nil)
        attention.touch(at: start.advanced(by: .seconds(90)))
        #expect(attention.isThere)
        #expect(attention.idleMoment(after: .seconds(60)) == start.advanced(by: .seconds(150)))
        attention.move(toForeground: false, at: start)
        #expect(!attention.isThere && attention.isUserActive)
        attention.grewIdle()
        attention.move(toForeground: true, at: start)
        #expect(attention.isThere)
    }
}
