import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationPostgres
import Foundation
import GatewayWaiting
import MockVendors
import PostgresServers
import Synchronization
import Testing

@testable import GatewayServer

/// What several gateways, as processes, share: one real database and one mock of Flagship.
struct Site {
    let mock: MockServer
    let vendor: any MockVendor
    let database: PostgresServer
    let schema: String
    let folder: URL
    private let path: String

    /// The token of the tenant and of the operator.
    static let token = "test"

    /// Makes a configuration that no instance uses yet.
    ///
    /// - Parameters:
    ///   - world: What the vendor has.
    ///   - database: Where the tenant's data is.
    ///   - polling: How many seconds lie between two questions for rules.
    ///   - lease: After how many seconds others deliver what an instance held.
    ///   - tenant: More members of the tenant, each with a comma before it.
    ///   - postgres: More members of its database.
    /// - Throws: An error if there is none.
    init(
        _ world: World = .shop,
        database: PostgresServer? = nil,
        polling: Double = 60,
        lease: Int = 3,
        tenant: String = "",
        postgres: String = ""
    ) async throws {
        let flagship = try #require(Vendor.named("flagship"))
        let (vendor, _) = try await flagship.mock(with: world)
        self.vendor = vendor
        mock = MockServer(vendor)
        try await mock.start()
        self.database = try database ?? PostgresServer.shared
        schema = "g" + UUID().uuidString.replacing("-", with: "").lowercased()
        // An instance that finds none waits for them only as long as for any operation, which is too short on a busy machine.
        try await PostgresStore.open(self.database.url, options: PostgresStoreOptions(schema: schema)).close()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let settings: FlagValue = [
            "vendor": "flagship", "mode": "bucketing",
            "environmentID": .string(vendor.credentials["environmentID"] ?? ""),
            "apiKey": .string(vendor.credentials["apiKey"] ?? ""),
            "pollingInterval": .double(polling),
            "endpoints": .object(mock.endpoints.mapValues { .string($0) }),
        ]
        try JSONEncoder().encode(settings).write(to: folder.appendingPathComponent("vendor.json"))
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
        let gateway = #"""
            {"http":{"port":0},"shutdown":{"seconds":60},"operators":{"tokens":["\#(digest)"]},
             "tenants":{"shop":{"vendor":"vendor.json","tokens":["\#(digest)"]\#(tenant),
              "store":{"postgres":{"url":{"env":"XP_TEST_DATABASE"},"schema":"\#(schema)","leaseSeconds":\#(lease)\#(postgres)}}}}}
            """#
        path = folder.appendingPathComponent("gateway.json").path
        try Data(gateway.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Starts an instance.
    ///
    /// - Parameters:
    ///   - url: How it reaches the database; directly unless said otherwise.
    ///   - variables: More of its environment, before the file.
    /// - Returns: The instance, once it listens.
    /// - Throws: An error if it can't be started.
    func instance(url: String? = nil, _ variables: [String: String] = [:]) async throws -> Instance {
        let own = ["XP_TEST_DATABASE": url ?? database.url].merging(variables) { $1 }
        let child = try await Child(["--config", path], variables: own)
        do { return try Instance(child) } catch let ended as Instance.Ended {
            throw Instance.Ended(description: "\(ended); its database: \(database.messages)")
        }
    }

    /// How often each goal was sent to the vendor.
    func goals() -> [String: Int] { Self.goals(in: mock.journal) }

    static func goals(in journal: [JournalEntry]) -> [String: Int] {
        var goals: [String: Int] = [:]
        for entry in journal {
            for match in String(decoding: entry.request.body, as: UTF8.self).matches(of: /goal-[0-9]+-[0-9]/) {
                goals[String(match.output), default: 0] += 1
            }
        }
        return goals
    }

    /// How often the vendor was asked for its rules.
    var fetches: Int { mock.journal.count { $0.operation == "bucketing" } }

    /// Turns the vendor's kill switch on or off.
    func setPanic(_ isOn: Bool) async throws {
        let answer = try await Wire(port: mock.port, host: "localhost")
            .request("POST", "/_mock/panic", [:], #"{"on":\#(isOn)}"#)
        #expect(answer.status == 200, "\(answer)")
    }

    /// Changes the vendor's rules.
    func change(_ change: (FlagValue) throws -> FlagValue) async throws { try await vendor.change(change) }

    func end() async {
        await mock.stop()
        try? FileManager.default.removeItem(at: folder)
    }
}

extension MockVendor {
    /// Changes what the vendor has.
    func change(_ change: (FlagValue) throws -> FlagValue) async throws {
        let question = MockRequest(method: "GET", path: "/world", query: nil, headers: [], body: [])
        let answer = try #require(await control(question))
        let changed = try change(try JSON.parse(answer.body))
        try await load(try JSONEncoder().encode(changed))
    }
}

extension FlagValue {
    /// Returns a copy with one text replaced by another throughout.
    func replacing(_ text: String, with other: String) -> FlagValue {
        switch self {
        case .string(text): .string(other)
        case .array(let values): .array(values.map { $0.replacing(text, with: other) })
        case .object(let members): .object(members.mapValues { $0.replacing(text, with: other) })
        default: self
        }
    }
}

/// The goals that a vendor was sent, read each second from a journal that keeps only the latest exchanges.
final class DeliveredGoals: Sendable {
    private struct State {
        var goals: Set<String> = []
        var place = 0
    }

    private let mock: MockServer
    private let state = Mutex(State())
    private let reading = Mutex<Task<Void, Never>?>(nil)

    /// Far more than arrive within a second.
    private static let journal = 20_000
    private static let beginning = Array("goal-".utf8)

    /// Begins to read.
    init(at mock: MockServer) {
        self.mock = mock
        mock.journalLimit = Self.journal
        let task = Task { [weak self] in
            while (try? await pause(.seconds(1))) != nil, let self { _ = self.goals }
        }
        reading.withLock { $0 = task }
    }

    /// The goals so far.
    var goals: Set<String> {
        state.withLock { state in
            let first = max(state.place, mock.forgottenEntries)
            let entries = mock.journal(from: first)
            for entry in entries {
                for text in entry.request.body.split(separator: UInt8(ascii: "\""))
                where text.starts(with: Self.beginning) {
                    state.goals.insert(String(decoding: text, as: UTF8.self))
                }
            }
            state.place = first + entries.count
            return state.goals
        }
    }

    /// Ends the reading.
    func end() { reading.withLock { $0 }?.cancel() }
}

/// A gateway that runs.
struct Instance: Sendable {
    let child: Child
    let wire: Wire

    /// The program ended before it listened.
    struct Ended: Error, CustomStringConvertible {
        let description: String
    }

    /// An instance, with the address at which it listens.
    init(_ child: Child) throws {
        self.child = child
        guard !child.head.isEmpty else { throw Ended(description: "it ended: \(child.errors)") }
        let address = try #require(try JSON.parse(child.head).objectValue?["url"]?.stringValue)
        wire = Wire(port: try #require(address.split(separator: ":").last.flatMap { Int($0) }))
    }

    /// Evaluates one flag of a user who consents.
    func flag(_ key: String, of user: String, consent: Bool = true) async throws -> WireAnswer {
        try await wire.post(Self.path(key), Self.question(user, consent), token: Site.token)
    }

    /// Evaluates one flag of a user who consents, over a kept connection; `nil` if that was cut.
    func flag(_ key: String, of user: String, over wires: KeptWires) async -> WireAnswer? {
        await wires[wire.port].post(Self.path(key), Self.question(user, true), token: Site.token)
    }

    private static func path(_ key: String) -> String { "/ofrep/v1/evaluate/flags/\(key)" }

    private static func question(_ user: String, _ consent: Bool) -> String {
        #"{"context":{"targetingKey":"\#(user)","consent":\#(consent)}}"#
    }

    /// Sends a goal of a user.
    func goal(_ number: Int, of user: String = "ada", says consent: Bool? = true) async throws -> WireAnswer {
        try await wire.post("/v1/events", Self.goal(number, user, consent), token: Site.token)
    }

    /// Sends a goal of a user who consents, over a kept connection; `nil` if that was cut.
    func goal(_ number: Int, of user: String, over wires: KeptWires) async -> WireAnswer? {
        await wires[wire.port].post("/v1/events", Self.goal(number, user, true), token: Site.token)
    }

    /// The body of a goal.
    static func goal(_ number: Int, _ user: String, _ consent: Bool?) -> String {
        let said = consent.map { ",\"consent\":\($0)" } ?? ""
        return """
            {"id":"\(number)","user":{"id":"\(user)"\(said)},
             "event":{"type":"goalCompleted","name":"goal-\(number)-0"}}
            """
    }

    /// Grants or denies a user's consent.
    func consent(_ isGranted: Bool, of user: String, id: String) async throws -> WireAnswer {
        let body = """
            {"id":"\(id)","user":{"id":"\(user)","consent":true},"event":{"type":"consentChanged","granted":\(isGranted)}}
            """
        return try await wire.post("/v1/events", body, token: Site.token)
    }
}

/// Whether this is a soak run.
let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"
