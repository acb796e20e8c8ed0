import Experimentation
import ExperimentationTesting
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("Assignments in memory")
struct AssignmentBookTests {
    @Test(
        "two ids that are canonically equivalent are two users, however long they are",
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

    @Test("assignments that are read while their user is being forgotten aren't remembered")
    func forgotten() async throws {
        let provider = InMemoryProvider()
        let state = HeldRemoval(baseState: InMemoryStateStore())
        let book = AssignmentBook(state: state, of: provider.destination, time: ManualTime())
        try await book.write(AssignmentRecord(userID: "ada", assignments: ["button": "A"]))
        state.isHeld.change { $0 = true }
        async let forgetting: Void = book.forget("ada")
        try await eventually("the removal is under way") { state.isUnderWay.value }
        #expect(await book.earlier(of: "ada").assignments == ["button": "A"])
        state.isHeld.change { $0 = false }
        try await forgetting
        #expect(book.known(of: "ada") == nil)
        #expect(await book.earlier(of: "ada").assignments == [:])
    }
}

/// A state store that holds back removals.
private struct HeldRemoval: StateStoreDecorator {
    let baseState: any StateStore
    let isHeld = Shared(false)
    let isUnderWay = Shared(false)

    func removeAll(beginningWith prefixes: [String]) async throws(ExperimentationError) {
        isUnderWay.change { $0 = true }
        try? await eventually("the removal is let go") { !isHeld.value }
        try await baseState.removeAll(beginningWith: prefixes)
    }
}
