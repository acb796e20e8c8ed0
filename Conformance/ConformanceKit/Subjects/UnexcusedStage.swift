import Experimentation

/// A stage that can't exempt its subject from a case: if it throws ``CaseDoesNotApply``, it is broken.
///
/// Forwards every requirement, including those that have a default.
struct UnexcusedStage: SubjectStage {
    let inner: any SubjectStage

    var gaps: [WorldGap] { get async { await inner.gaps } }
    var parts: [SubjectPart] { inner.parts.map(\.unexcused) }
    var move: (any SubjectMove)? { inner.move.map(UnexcusedMove.init) }
    var secrets: [String] { inner.secrets }
    var tellsOfChanges: Bool { get async throws { try await unexcused { try await inner.tellsOfChanges } } }
    var isHeard: Bool { get async throws { try await unexcused { try await inner.isHeard } } }

    func makeProvider() async throws -> any ExperimentationProvider {
        try await unexcused { try await inner.makeProvider() }
    }
    func change(to world: World) async throws { try await unexcused { try await inner.change(to: world) } }
    func inject(_ faults: [WorldFault]) async throws { try await unexcused { try await inner.inject(faults) } }
    func clearFaults() async throws { try await unexcused { try await inner.clearFaults() } }
    func setKillSwitch(_ isOn: Bool) async throws { try await unexcused { try await inner.setKillSwitch(isOn) } }
    func setReachable(_ isReachable: Bool) async throws {
        try await unexcused { try await inner.setReachable(isReachable) }
    }
    func setRoundTrip(_ duration: Duration) async -> Bool { await inner.setRoundTrip(duration) }
    func received() async throws -> [Received] { try await unexcused { try await inner.received() } }
    func takeReceived() async throws -> [Received]? { try await unexcused { try await inner.takeReceived() } }
    func exchanges() async throws -> [Exchange] { try await unexcused { try await inner.exchanges() } }
    func exchangeCount() async throws -> Int { try await unexcused { try await inner.exchangeCount() } }
    func exchanges(from index: Int) async throws -> [Exchange] {
        try await unexcused { try await inner.exchanges(from: index) }
    }
    func ledger(of client: ExperimentationClient) async throws -> Ledger {
        try await unexcused { try await inner.ledger(of: client) }
    }
    func needsConsent(_ roles: ProviderRoles) -> Bool { inner.needsConsent(roles) }
    func close() async { await inner.close() }
}

/// A move behind an ``UnexcusedStage``.
private struct UnexcusedMove: SubjectMove {
    let inner: any SubjectMove

    var old: SubjectPart { inner.old.unexcused }
    var new: SubjectPart { inner.new.unexcused }

    func follow(_ plan: MovePlan) { inner.follow(plan) }
    func move(
        _ client: ExperimentationClient,
        to stage: MoveStage,
        share: Double?
    ) async throws(ExperimentationError) {
        try await inner.move(client, to: stage, share: share)
    }
    func sight(of client: ExperimentationClient) throws -> MoveSight {
        do { return try inner.sight(of: client) } catch { throw withoutExcuse(error) }
    }
    func answerer(of assignment: Assignment) -> String? { inner.answerer(of: assignment) }
}

extension SubjectPart {
    /// The same part, on a stage that can't exempt it.
    fileprivate var unexcused: SubjectPart {
        SubjectPart(name, subject, UnexcusedStage(inner: stage), world: world, destination: destination) {
            do { return try await received() } catch { throw withoutExcuse(error) }
        }
    }
}

private func unexcused<Value>(_ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch { throw withoutExcuse(error) }
}

private func withoutExcuse(_ error: any Error) -> any Error {
    guard let excuse = error as? CaseDoesNotApply else { return error }
    return SubjectError.broken("its stage says that a case doesn't apply, which only a case may: \(excuse)")
}
