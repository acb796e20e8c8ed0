import AdapterKit
import EngageAdapter
import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

/// The samples of the page for those who move over: they compile here.
@Suite("Engage: the samples of the migration page")
struct MigrationPageTests {
    private func launch() async throws -> BehaviorTracker {
        // page: begin
        let configuration = try EngageConfiguration(
            host: "https://api2.example.test/",
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "refresh"),
            listID: "23949"
        )
        let client = try await ExperimentationClient(
            provider: EngageProvider(configuration: configuration),
            store: .applicationSupport(named: "engage")
        )
        let engage = try Engage(of: client)
        // No network is needed: the recipient is added before its first behaviours are posted.
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

    private func upgrade(_ engage: Engage, _ client: ExperimentationClient) async throws {
        // page: begin
        try await engage.takeOver(EngageSDKRecords(in: .standard))
        let id = try await engage.mobileIdentity.prepareRecipient()
        let session = client.session(for: User(id: id))
        let documents = FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)
        let file = documents[0].appending(path: "EngageEventLocalStore2.sqlite")
        let rows = try SQLiteTable("ZENGAGEEVENT", in: file).rows()
        try await engage.takeOver(rows.compactMap(EngageSDKEvent.init), in: session)
        try? FileManager.default.removeItem(at: file)
        // page: end
    }

    private func signIn(_ engage: Engage, _ session: UserSession, _ tracker: BehaviorTracker) async throws {
        // page: begin
        try await engage.mobileIdentity.checkIdentity(["facebook_id": "100"], for: session)
        try await tracker.setApplicationState(.background)
        // page: end
    }

    @Test("are the page's, line by line")
    func areThese() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/migrating-from-engage.md"), encoding: .utf8)
        let own = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        /// Layout aside: the formatter breaks lines that the page doesn't.
        func code(_ text: some StringProtocol) -> String { String(text.filter { !$0.isWhitespace }) }
        let samples = own.matches(of: /\/\/ page: begin\n((?s).*?)\/\/ page: end/).map { String($0.output.1) }
        #expect(samples.count == 4)
        #expect(samples.filter { !code(page).contains(code($0)) } == [])
    }
}
