import Experimentation
import ExperimentationTesting
import Testing

@testable import GatewayServer

@Suite("Assignments in memory")
struct AssignmentBookTests {
    @Test(
        "two ids that Unicode takes for equal are two people, however long they are",
        arguments: ["", String(repeating: "x", count: 200)]
    )
    func exact(rest: String) async throws {
        let provider = InMemoryProvider()
        let book = AssignmentBook(state: InMemoryStateStore(), of: provider.destination, time: ManualTime())
        let (composed, decomposed) = ("Jos\u{e9}" + rest, "Jose\u{301}" + rest)
        let (first, second): (EarlierAssignments, EarlierAssignments) = (["button": "A"], ["button": "B"])
        #expect(await book.keep(first, beside: .init(), of: composed) == first)
        #expect(book.known(of: composed) == first)
        #expect(book.known(of: decomposed) == nil)
        #expect(await book.earlier(of: decomposed) == .init())
        #expect(await book.keep(second, beside: .init(), of: decomposed) == second)
        #expect(book.known(of: composed) == first)
        try await book.forget(decomposed)
        #expect(await book.earlier(of: composed).assignments == first)
        #expect(await book.earlier(of: decomposed).assignments == [:])
    }
}
