import AdapterKit
import EngageAdapter
import EngageSQLite
import Experimentation
import ExperimentationSQLite
import ExperimentationTesting
import Foundation
import GRDB
import Testing

/// Compiles the samples of the migration page.
@Suite("Engage: the samples of the migration page")
struct MigrationPageTests {
    private func launch() async throws -> BehaviorTracker {
        // page: begin
        let configuration = try EngageConfiguration(
            host: "https://api2.example.test/",
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "refresh"),
            listID: "23949"
        )
        let client = try await Engage.client(configuration)
        let engage = try Engage(of: client)
        // No network is needed: the recipient is added before its first behaviors are posted.
        let id = try await engage.mobileIdentity.prepareRecipient()
        let session = client.session(for: User(id: id))
        let tracker = engage.tracker(for: session, of: client)
        try await tracker.launch()
        try await session.track(.goalCompleted("LISTENED TO MVSTERMIND"))
        // page: end
        return tracker
    }

    private func begin() async throws {
        // page: begin
        let starting = Task { try await launch() }
        let tracker = try await starting.value
        // page: end
        _ = tracker
    }

    private func consent(_ engage: Engage, _ client: ExperimentationClient) async throws {
        // page: begin
        try await engage.profile.grantConsent()
        let id = try await engage.mobileIdentity.prepareRecipient()
        let session = client.session(for: User(id: id))
        try await engage.tracker(for: session, of: client).launch()
        // page: end
    }

    /// Returns the mobile user id.
    private func upgrade(
        _ engage: Engage,
        _ client: ExperimentationClient,
        _ defaults: UserDefaults,
        _ documents: URL
    ) async throws -> String {
        // page: begin
        try await engage.takeOver(EngageSDKRecords(in: defaults))
        let id = try await engage.mobileIdentity.prepareRecipient()
        let session = client.session(for: User(id: id))
        let file = documents.appending(path: "EngageEventLocalStore2.sqlite")
        let rows = try SQLiteTable("ZENGAGEEVENT", in: file).rows()
        try await engage.takeOver(rows.compactMap(EngageSDKEvent.init), in: session)
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.path + ending) }
        // page: end
        return id
    }

    private func signIn(_ engage: Engage, _ session: UserSession, _ tracker: BehaviorTracker) async throws {
        // page: begin
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        try await tracker.setApplicationState(.background)
        // page: end
    }

    /// Writes a file as Core Data does for the SDK's model, with the write-ahead log that a killed process leaves
    /// behind.
    private func eventStore(in folder: URL, of rows: [(status: Int, json: String, date: Double)]) throws {
        let live = folder.appending(path: "live.sqlite")
        let queue = try DatabaseQueue(path: live.path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TABLE ZENGAGEEVENT ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
                      ZEVENTSTATUS INTEGER, ZEVENTTYPE INTEGER, ZEVENTDATE TIMESTAMP, ZEVENTJSON VARCHAR );
                    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
                    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
                    """
            )
            for row in rows {
                try database.execute(
                    sql: "INSERT INTO ZENGAGEEVENT VALUES (NULL, 1, 1, ?, 17, ?, ?)",
                    arguments: [row.status, row.date, row.json]
                )
            }
        }
        for ending in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: live.path + ending,
                toPath: folder.appending(path: "EngageEventLocalStore2.sqlite").path + ending
            )
        }
        try queue.close()
        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: live.path + ending) }
    }

    @Test("the upgrade posts what the former SDK's file still owes, once, and removes the file")
    func upgradeRuns() async throws {
        let bench = EngageWorkbench()
        let folder = FileManager.default.temporaryDirectory.appending(path: "engage-\(UUID().uuidString)")
        let suite = "engage-\(UUID().uuidString)"
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer {
            defaults.removePersistentDomain(forName: suite)
            try? FileManager.default.removeItem(at: folder)
        }
        defaults.set("M", forKey: "engagePrimaryUserId")
        defaults.set(try await bench.addRecipient(["Mobile User Id": "M"]), forKey: "recipientId")
        let now = bench.time.now.timeIntervalSinceReferenceDate
        let rows = [1, 2, 3, 4, 5, 6].map { status in
            (
                status, #"{"eventTypeCode":"17","attributes":[{"name":"Event Name","value":"state \#(status)"}]}"#,
                now - 100 + Double(status)
            )
        }
        try eventStore(in: folder, of: rows)
        let engage = bench.engage()
        let client = try await bench.client(engage)
        for _ in 0..<2 {
            #expect(try await upgrade(engage, client, defaults, folder) == "M")
            try await client.flush()
            #expect(
                try await bench.behaviors().map { $0["Event Name"] } == ["state 1", "state 4", "state 5", "state 6"]
            )
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
        #expect(try await bench.behaviors().allSatisfy { $0["Recipient Id"] == defaults.string(forKey: "recipientId") })
    }

    @Test("equal the page's, line by line")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-engage.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Ignores layout: the formatter breaks lines that the page doesn't.
        func code(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
        let samples = own.matches(of: /\/\/ page: begin\n((?s).*?)\/\/ page: end/).map { String($0.output.1) }
        #expect(samples.count == 5)
        #expect(samples.filter { !code(page).contains(code($0)) } == [])
    }
}
