import Experimentation
import ExperimentationSQLite
import Foundation
import GatewayWaiting
import Testing

@testable import GatewayServer

/// An outbox that can't carry out a change of consent.
private struct DenyingOutbox: OutboxStoreDecorator {
    let base: any OutboxStore

    func setConsent(_ changes: [ConsentChange]) async throws(ExperimentationError) -> ConsentOutcome {
        throw ExperimentationError(.store, "The disk is full.")
    }
}

@Suite("A denial of consent that an earlier run owed")
struct OwedDenialTests {
    @Test("it removes the user's assignments as well, however early it is carried out")
    func assignments() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("owed-\(UUID().uuidString).sqlite")
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) } }
        let (provider, ada) = (Served.publisher(), User(id: "ada", consent: .granted))
        let store = try await ClientStore.sqlite(at: file, for: provider)
        let book = AssignmentBook(state: store.state, of: provider.destination, time: SystemTime(), isShared: false)
        let given = EarlierAssignments(["experiment": "left"])
        try await book.write(AssignmentRecord(userID: ada.id, assignments: given))
        // Requests that a crash interrupted, which are looked after while the tenant is opened.
        for number in 0..<500 { try await store.state.setValue(Array("0 x".utf8), for: "gateway/begun/\(number)") }
        let earlier = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: DenyingOutbox(base: store.outbox), state: store.state)
        )
        await #expect(throws: ExperimentationError.self) { try await earlier.setConsent(.denied, for: ada) }
        await earlier.shutdown(within: .zero)
        func keys(_ name: String) async throws -> Int {
            try await store.state.keys(beginningWith: "").count { $0.contains(name) }
        }
        #expect(try await keys("gateway/assigned/") == 1)
        #expect(try await keys("withdrawal/") == 1)

        var tenant = Served.tenant()
        tenant.store = .file(file)
        let connection = try await TenantConnection.opened(
            tenant,
            provider: Served.publisher(),
            environment: ClientEnvironment()
        )
        try await eventually("the denial is carried out") { try await keys("withdrawal/") == 0 }
        #expect(try await keys("gateway/assigned/") == 0)
        await connection.close()
    }
}
