import Experimentation
import ExperimentationTesting
import Foundation
import Testing

@testable import EngageAdapter

@Suite("A user who is removed between two steps")
struct RemovalTests {
    let bench = EngageWorkbench()

    /// Removes one user, or all of them.
    private func remove(_ user: String?, from engage: Engage) async throws {
        if let user { try await engage.profile.forget(user) } else { try await engage.profile.clear() }
    }

    /// How many steps of a linking are taken before the removal; after the last of them, only the audit table's row is left.
    private static let steps = 1...5

    @Test(
        "ends their linking: nothing of them comes back, and the vendor is told nothing more",
        arguments: steps,
        ["anon", "ben", nil]
    )
    func linking(after steps: Int, removed user: String?) async throws {
        for own in ["anon", "ben", "somebody else"] {
            let bench = EngageWorkbench()
            let engage = bench.engage { $0.recipients.audit = .init(tableID: "29392") }
            _ = try await bench.addRecipient(["Mobile User Id": "ben"])
            try await engage.profile.storeMobileUserID(own)
            var progress = LinkProgress(from: Identity(id: "anon"), to: Identity(id: "ben"))
            for _ in 0..<steps { progress = try await engage.linker.advance(progress) }
            #expect(!progress.isComplete)
            try await remove(user, from: engage)
            let (left, operations) = (engage.profile.record, bench.operations)
            let error = await #expect(throws: ExperimentationError.self) { [progress] in
                try await engage.linker.advance(progress)
            }
            #expect(error == EngageErrors.forgotten)
            #expect(engage.profile.record == left)
            #expect(bench.operations == operations)
        }
    }

    @Test("ends no linking of others, nor does a user without an id", arguments: steps, ["cleo", ""])
    func others(after steps: Int, removed user: String) async throws {
        let engage = bench.engage { $0.recipients.audit = .init(tableID: "29392") }
        _ = try await bench.addRecipient(["Mobile User Id": "ben"])
        var progress = LinkProgress(from: Identity(id: "anon"), to: Identity(id: "ben"))
        for _ in 0..<steps { progress = try await engage.linker.advance(progress) }
        try await engage.profile.forget(user)
        progress = try await engage.linker.advance(progress)
        #expect(progress.isComplete == (steps == Self.steps.upperBound))
    }

    @Test("ends an interrupted merge that searches for them", arguments: ["ben", "anon", "cleo"])
    func searched(user: String) {
        var record = EngageRecord()
        record.merge = MergeIntent(id: "m", fields: ["Mobile User Id": "ben"], mobileUserID: "anon")
        record.forget(user)
        #expect((record.merge == nil) == (user != "cleo"))
    }
}
