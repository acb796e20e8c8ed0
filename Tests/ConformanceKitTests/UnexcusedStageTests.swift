import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("What a case sees of a stage")
struct UnexcusedStageTests {
    @Test("a case gets the stage's own answers, even where there is a default")
    func forwards() async {
        let conformanceCase = ConformanceCase("stages/own", promise: 1, "Its own answers", world: .shop) { probe in
            let stage = probe.stage
            probe.expect(await stage.gaps, equals: [WorldGap("campaigns", "none")], "gaps")
            probe.expect(stage.parts.map(\.name), equals: ["own"], "parts")
            probe.expect(try await stage.parts.first?.received().map(\.type), equals: ["part"], "what a part has")
            probe.expect(stage.move != nil, "a move")
            probe.expect(stage.move?.old.name, equals: "old", "whence it goes")
            probe.expect(stage.move?.new.name, equals: "new", "where it goes")
            probe.expect(stage.secrets, equals: ["abcdef"], "secrets")
            probe.expect(try await stage.tellsOfChanges, equals: false, "changes")
            probe.expect(try await stage.isHeard, equals: false, "listeners")
            probe.expect(try await stage.takeReceived()?.map(\.type), equals: ["taken"], "what is taken")
            probe.expect(await stage.setRoundTrip(.zero), equals: true, "a wire")
            probe.expect(stage.needsConsent(ProviderRoles()), equals: true, "consent")
            probe.expect(try await stage.exchangeCount(), equals: 7, "a number of exchanges")
            probe.expect(try await stage.exchanges(from: 3).map(\.number), equals: [3], "later exchanges")
            let client = try await probe.client()
            probe.expect(try await stage.ledger(of: client), equals: Ledger(accepted: 3, pending: 3), "a ledger")
            do {
                _ = try stage.move?.sight(of: client)
                probe.fail("the move is seen")
            } catch {
                probe.expect(error is SubjectError, "an excuse of the move's: \(error)")
            }
        }
        #expect(await ConformanceRunner().run(conformanceCase, against: OwnSubject()).outcome == .passed)
    }
}

/// A subject whose stage answers everything that has a default by itself.
private struct OwnSubject: ConformanceSubject {
    var name: String { "own" }
    var capabilities: Set<Capability> { [.flags] }
    var wireFields: Set<Received.Field> { [] }
    func open(_ world: World) async throws -> any SubjectStage { OwnStage(inner: InMemoryStage(world)) }
}

private struct OwnStage: SubjectStage {
    let inner: InMemoryStage

    var gaps: [WorldGap] { [WorldGap("campaigns", "none")] }
    var parts: [SubjectPart] { [part("own")] }
    var move: (any SubjectMove)? { OwnMove(old: part("old"), new: part("new")) }
    var secrets: [String] { ["abcdef"] }
    var tellsOfChanges: Bool { false }
    var isHeard: Bool { false }
    func makeProvider() async throws -> any ExperimentationProvider { try await inner.makeProvider() }
    func change(to world: World) async throws {}
    func inject(_ faults: [WorldFault]) async throws {}
    func clearFaults() async throws {}
    func setKillSwitch(_ isOn: Bool) async throws {}
    func setReachable(_ isReachable: Bool) async throws {}
    func setRoundTrip(_ duration: Duration) async -> Bool { true }
    func received() async throws -> [Received] { [] }
    func takeReceived() async throws -> [Received]? { [Received(type: "taken")] }
    func exchanges() async throws -> [Exchange] { [] }
    func exchangeCount() async throws -> Int { 7 }
    func exchanges(from index: Int) async throws -> [Exchange] {
        [Exchange(number: index, purpose: .any, operation: "own", method: "CALL", path: "/", status: nil)]
    }
    func ledger(of client: ExperimentationClient) async throws -> Ledger { Ledger(accepted: 3, pending: 3) }
    func needsConsent(_ roles: ProviderRoles) -> Bool { true }
    func close() async { await inner.close() }

    private func part(_ name: String) -> SubjectPart {
        SubjectPart(name, InMemorySubject(), inner, world: .empty, destination: nil) { [Received(type: "part")] }
    }
}

private struct OwnMove: SubjectMove {
    let old: SubjectPart
    let new: SubjectPart
    func follow(_ plan: MovePlan) {}
    func move(
        _ client: ExperimentationClient,
        to stage: MoveStage,
        share: Double?
    ) async throws(ExperimentationError) {}
    func sight(of client: ExperimentationClient) throws -> MoveSight { throw CaseDoesNotApply("it sees nothing") }
    func answerer(of assignment: Assignment) -> String? { nil }
}
