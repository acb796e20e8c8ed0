import Experimentation
import Testing

@testable import ExperimentationMigration

@Suite("An alias that a decision from before a removal takes back leads to the record of a later one")
struct TakenBackAliasesTests {
    /// A state store in which something may happen before an operation.
    private struct Interrupted: StateStoreDecorator {
        let baseState: any StateStore = InMemoryStateStore()
        let operation: StoreOperation
        let interruption = Interruption()

        func pass<Value: Sendable>(
            _ operation: StoreOperation,
            _ body: () async throws(ExperimentationError) -> Value
        ) async throws(ExperimentationError) -> Value {
            if operation == self.operation { try await interruption.happen() }
            return try await body()
        }
    }

    private let ada = Identity(id: "ada", anonymousID: "visit")

    private func people(in state: Interrupted) -> People { People(in: state, log: ClientEnvironment().log) }

    private static func write(_ identity: Identity, by people: People) async throws(ExperimentationError) {
        let found = try await people.find(identity)
        var person = found.person
        person.side = .new
        _ = try await people.write(person, over: found, of: identity)
    }

    private func expectRemovable(_ people: People, in state: Interrupted) async throws {
        #expect(state.interruption.hasHappened)
        #expect(try await people.find(Identity(id: "ada")).person.side == .new)
        try await people.forget("ada")
        #expect(try await state.keys(beginningWith: "") == [])
    }

    @Test("even if that record was written while the alias was being taken back")
    func writtenMeanwhile() async throws {
        let state = Interrupted(operation: .removeAll)
        let people = people(in: state)
        try await people.lead([StableKey("ada").digest], to: StableKey(ada).digest)
        state.interruption.arm { [ada] () async throws(ExperimentationError) in try await Self.write(ada, by: people) }
        try await people.withdrawAliases(of: ada, to: StableKey(ada).digest)
        try await expectRemovable(people, in: state)
    }

    @Test("even if that decision had found the alias, and wrote its record afterward")
    func writtenAfterwards() async throws {
        let state = Interrupted(operation: .update)
        let people = people(in: state)
        // The alias is written first, then the record.
        state.interruption.arm { [ada] in
            state.interruption.arm { () async throws(ExperimentationError) in
                try await people.withdrawAliases(of: ada, to: StableKey(ada).digest)
            }
        }
        try await Self.write(ada, by: people)
        try await expectRemovable(people, in: state)
    }
}
