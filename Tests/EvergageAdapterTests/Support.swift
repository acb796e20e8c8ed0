import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Synchronization
import Waiting

@testable import EvergageAdapter

/// Passes requests to a mock vendor in the same process, or to a test's replacement.
final class VendorTransport: HTTPTransport {
    /// A test's answer in place of the vendor's; `nil` lets the request through.
    typealias Detour = @Sendable (HTTPRequest, [UInt8]) async throws(ExperimentationError) -> HTTPReply?

    let vendor: EvergageMock
    private struct State {
        var detour: Detour?
        var sent: [Sent] = []
    }

    private let state = Mutex(State())

    struct Sent: Sendable {
        var request: HTTPRequest
        var body: [UInt8]
        var json: FlagValue { (try? JSON.parse(body)) ?? .null }
        var eventID: String? { HTTPField.Name("X-Event-Id").flatMap { request.headerFields[$0] } }
        var path: String { request.path ?? "" }
        /// The decoded query items.
        var query: [String: String] {
            let parts = path.split(separator: "?", maxSplits: 1)
            let items = parts.count > 1 ? FormEncoding.decode(String(parts[1])) : []
            return Dictionary(items.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        }
    }

    init(_ vendor: EvergageMock) { self.vendor = vendor }

    /// All requests so far.
    var sent: [Sent] { state.withLock { $0.sent } }
    /// All events so far.
    var events: [FlagValue] { sent.filter { $0.path.contains("/api2/event/") }.map(\.json) }
    /// All view times so far, in milliseconds, by item.
    var pings: [String] {
        sent.filter { $0.path.hasPrefix("/pr") }.map { ping in
            let item = (try? JSON.parse(ping.query["item"] ?? "")) ?? .null
            return "\(item["_id"]?.stringValue ?? "?") \(ping.query[".top"] ?? "?")"
        }
    }

    func setDetour(_ detour: Detour?) { state.withLock { $0.detour = detour } }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let detour = state.withLock { state in
            state.sent.append(Sent(request: request, body: body))
            return state.detour
        }
        if let reply = try await detour?(request, body) { return reply }
        let parts = (request.path ?? "/").split(separator: "?", maxSplits: 1).map(String.init)
        let response = await vendor.respond(
            to: MockRequest(
                method: request.method.rawValue,
                path: parts[0],
                query: parts.count > 1 ? parts[1] : nil,
                headers: request.headerFields.map { .init($0.name.rawName, $0.value) },
                body: body
            )
        )
        var fields = HTTPFields()
        for header in response.headers {
            if let name = HTTPField.Name(header.name) { fields[name] = header.value }
        }
        return HTTPReply(
            response: HTTPResponse(status: .init(code: response.status), headerFields: fields),
            body: response.body
        )
    }
}

extension HTTPReply {
    /// Creates an answer.
    static func made(_ status: Int, _ body: String = "", retryAfter: String? = nil) -> HTTPReply {
        var fields: HTTPFields = [:]
        if let retryAfter { fields[.retryAfter] = retryAfter }
        return HTTPReply(
            response: HTTPResponse(status: .init(code: status), headerFields: fields),
            body: Array(body.utf8)
        )
    }
}

extension FlagValue {
    /// The member of an object; `nil` for any other value.
    subscript(name: String) -> FlagValue? { objectValue?[name] }
}

/// Blocks tasks until it is opened.
final class Turnstile: Sendable {
    private let state = Mutex<(isOpen: Bool, count: Int)>((false, 0))
    func pass() async {
        state.withLock { $0.count += 1 }
        try? await eventually("an open turnstile") { state.withLock(\.isOpen) }
    }
    func isReached() async throws { try await eventually("a task at the turnstile") { state.withLock(\.count) > 0 } }
    func open() { state.withLock { $0.isOpen = true } }
}

/// Generates sequential ids.
final class Counter: Sendable {
    private let count = Mutex(0)
    func next() -> String {
        count.withLock { count in
            count += 1
            return "id-\(count)"
        }
    }
}

/// Records the calls of handlers.
@MainActor
final class Shown {
    var campaigns: [Campaign] = []
    var ids: [String] { campaigns.map(\.id) }
    var handler: CampaignHandler { { [self] in campaigns.append($0) } }
}

extension EvergageConfiguration {
    static let test: Self = {
        do {
            return try Self(
                account: "acme",
                dataset: "engage",
                endpoint: Endpoint("http://127.0.0.1:1"),
                application: "com.acme.shop",
                pace: nil
            )
        } catch {
            fatalError("\(error)")
        }
    }()
}

/// The neutral client with the adapter, a mock vendor and a manual clock.
struct Bench {
    let vendor = EvergageMock()
    let transport: VendorTransport
    let time = ManualTime()
    let log = RecordingLog()
    let environment: ClientEnvironment
    let client: ExperimentationClient

    init(
        _ world: String = "{}",
        configuration: EvergageConfiguration = .test,
        store: ClientStore = .inMemory()
    ) async throws {
        try await vendor.load(Data(world.utf8))
        transport = VendorTransport(vendor)
        let counter = Counter()
        environment = ClientEnvironment(time: time, makeID: { counter.next() }, jitter: { 0.5 }, log: log)
        client = try await ExperimentationClient(
            provider: EvergageProvider(configuration: configuration, transport: transport),
            store: store,
            environment: environment
        )
    }

    func session(_ user: User = User(id: "u-77", anonymousID: "anon-1", isAuthenticated: true)) -> UserSession {
        client.session(for: user)
    }

    /// The mock's record of a user.
    func user(_ key: String) async -> FlagValue? { await vendor.user(key) }
}

extension EvergageMock {
    func user(_ key: String) async -> FlagValue? {
        guard let response = await control(MockRequest(method: "GET", path: "/users/\(key)")), response.status == 200
        else { return nil }
        return try? JSON.parse(response.body)
    }
}

/// Waits until work already queued on the main actor has run.
func mainActorTurn() async { await Task { @MainActor in }.value }
