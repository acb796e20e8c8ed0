import Experimentation
import ExperimentationPostgres
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import PostgresServers
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
    @Test("it also removes the user's assignments, however early it is carried out")
    func assignments() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("owed-\(UUID().uuidString).sqlite")
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) } }
        let (provider, ada) = (Served.publisher(), User(id: "ada", consent: .granted))
        let store = try await ClientStore.sqlite(at: file, for: provider)
        let book = AssignmentBook(state: store.state, of: provider.destination, time: SystemTime(), isShared: false)
        let given = EarlierAssignments(["experiment": "left"])
        try await book.write(AssignmentRecord(userID: ada.id, assignments: given))
        // Requests that a crash interrupted, which are completed while the tenant is opened.
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

    @Test(
        "if it waits in the file, it is carried out before events that wait in the database are delivered",
        arguments: [false, true]
    )
    func waiting(isGrantedAgain: Bool) async throws {
        let (server, name) = (try PostgresServer.shared, "d" + UUID().uuidString.replacing("-", with: "").lowercased())
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(name).sqlite")
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + end) } }
        let store = try await PostgresStore.open(server.url, options: PostgresStoreOptions(schema: name))
        let earlier = try await ExperimentationClient(provider: Served.publisher(), store: store.clientStore)
        await earlier.setConnectivity(.offline)
        for user in ["ada", "ben"] {
            try await earlier.track(.custom("seen"), for: User(id: user, consent: .granted))
        }
        await earlier.shutdown(within: .zero)
        await store.close()
        let meanwhile = try await Meanwhile(
            file: file,
            scope: name,
            bytes: 1_000_000,
            environment: ClientEnvironment(),
            database: DatabaseSight { true }
        )
        for isGranted in isGrantedAgain ? [false, true] : [false] {
            let event = TrackingEvent(.consentChanged(granted: isGranted))
            let request = EventRequest(
                id: "\(isGranted)",
                user: User(id: "ada"),
                isConsentStated: false,
                event: event,
                date: nil
            )
            #expect(await meanwhile.take(request) == .accepted)
        }
        await meanwhile.close()

        var tenant = Served.tenant()
        tenant.store = .postgres(SharedDatabase(url: server.url, schema: name, meanwhile: file))
        let provider = Served.publisher()
        let connection = try await TenantConnection.opened(
            tenant,
            provider: provider,
            environment: ClientEnvironment()
        )
        _ = try await connection.client.flush(retrying: false)
        #expect(provider.record.delivered.map(\.identity.id).sorted() == ["ben"])
        await connection.close()
    }
}
