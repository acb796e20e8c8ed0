import Testing

@testable import GatewayServer

@Suite("A bounded set")
struct BoundedSetTests {
    @Test("a removed member doesn't use up room")
    func removed() {
        let set = BoundedSet<String>(limit: 4)
        #expect(set.insert("a"))
        set.remove("a")
        let members = ["b", "c", "d", "e"]
        for member in members { #expect(set.insert(member)) }
        #expect(members.filter(set.contains) == members)
    }
}
