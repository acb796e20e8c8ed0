import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

/// The adapter with the mock vendor in the same process, manual time, and ids that count up.
final class EngageWorkbench: Sendable {
    /// A fault of a request, instead of the vendor or after it.
    enum Mishap: Sendable {
        case status(Int, retryAfter: String? = nil, body: String = "", type: String = "text/html")
        case lostBefore
        case lostAfter
    }

    struct Planned: Sendable {
        var operation: String
        var after = 0
        var times = 1
        var mishap: Mishap
    }

    /// A recorded exchange.
    struct Exchange: Sendable {
        var operation: String
        var request: MockRequest
        var response: MockResponse?

        /// The XML envelope in the form.
        var envelope: String { FormEncoding.decode(request.text).first { $0.name == "xml" }?.value ?? "" }
    }

    struct State {
        var exchanges: [Exchange] = []
        var planned: [Planned] = []
        var ids = 0
        /// The operation whose exchanges are held, and the held exchanges.
        var heldOperation: String?
        var held: [CheckedContinuation<Void, Never>] = []
    }

    let mock: EngageMock
    let time: ManualTime
    let store: ClientStore
    let state = Mutex(State())

    init(now: Date = Date(timeIntervalSince1970: 1_423_000_000)) {
        let time = ManualTime(now: now)
        self.time = time
        mock = EngageMock(now: { time.now })
        store = .inMemory()
    }

    var environment: ClientEnvironment {
        ClientEnvironment(time: time, makeID: { self.nextID() }, jitter: { 1 }, log: NoLog())
    }

    func nextID() -> String {
        state.withLock { state in
            state.ids += 1
            return "ID-\(state.ids)"
        }
    }

    static func configuration(_ change: (inout EngageConfiguration) -> Void = { _ in }) -> EngageConfiguration {
        var configuration = EngageConfiguration(
            endpoint: Endpoint(https: "api2.example.test"),
            credentials: .init(clientID: "client", clientSecret: "secret", refreshToken: "refresh"),
            listID: "23949"
        )
        configuration.device = EngageDevice(
            name: "iPhone",
            version: "iPhone7,2",
            osName: "iPhone OS",
            osVersion: "8.1.2",
            appName: "Demo",
            appVersion: "42",
            id: "DEVICE-1"
        )
        change(&configuration)
        return configuration
    }

    /// The way to the mock vendor.
    var transport: any HTTPTransport { Wire(bench: self) }

    /// The context of the adapter; the store survives a restart of the process.
    var context: ProviderContext { ProviderContext(environment: environment, state: store.state) }

    /// Creates Engage as after a start of the process; the store is kept.
    func engage(_ change: (inout EngageConfiguration) -> Void = { _ in }) -> Engage {
        Engage(Self.configuration(change), transport: Wire(bench: self), in: context)
    }

    func client(_ engage: Engage, store: ClientStore? = nil) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: Made(engage: engage),
            store: store ?? self.store,
            environment: environment
        )
    }

    /// A provider whose vendor is under the test's control.
    private struct Made: ExperimentationProvider {
        let engage: Engage
        var name: String { EngageProvider(configuration: engage.configuration).name }
        var scope: String { EngageProvider(configuration: engage.configuration).scope }
        var capabilities: Set<Capability> { EngageProvider(configuration: engage.configuration).capabilities }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
            try engage.configuration.validate()
            try await engage.begin()
            return engage.roles
        }
    }

    // MARK: Faults

    func plan(_ mishap: Mishap, on operation: String, after: Int = 0, times: Int = 1) {
        state.withLock { $0.planned.append(Planned(operation: operation, after: after, times: times, mishap: mishap)) }
    }

    func forgetPlans() { state.withLock { $0.planned = [] } }

    /// Holds exchanges of an operation.
    func hold(_ operation: String) { state.withLock { $0.heldOperation = operation } }

    /// The number of held exchanges.
    var held: Int { state.withLock { $0.held.count } }

    /// Waits until an exchange is held.
    func isHolding() async throws { try await eventually("a held request") { held > 0 } }

    /// Lets further exchanges of an operation pass; held ones remain held.
    func release(_ operation: String) {
        state.withLock { if $0.heldOperation == operation { $0.heldOperation = nil } }
    }

    func letGo() {
        let held = state.withLock { state in
            state.heldOperation = nil
            defer { state.held = [] }
            return state.held
        }
        for exchange in held { exchange.resume() }
    }

    /// Lets the exchange go that was held first; further ones are held.
    func letOneGo() {
        let first = state.withLock { $0.held.isEmpty ? nil : $0.held.removeFirst() }
        first?.resume()
    }

    fileprivate func standStill(_ operation: String) async {
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                guard state.heldOperation == operation else { return false }
                state.held.append(continuation)
                return true
            }
            if !isHeld { continuation.resume() }
        }
    }

    /// Plans a fault with the vendor's own code.
    func fault(_ code: Int, on operation: String, applied: Bool = false, times: Int = 1) async {
        let json = #"[{"operation":"\#(operation)","code":\#(code),"applied":\#(applied),"times":\#(times)}]"#
        await control("POST", "/faults", json)
    }

    func settings(_ json: String) async { await control("POST", "/settings", json) }

    @discardableResult
    func control(_ method: String, _ path: String, _ body: String = "", query: String? = nil) async -> Data {
        let request = MockRequest(method: method, path: path, query: query, body: Array(body.utf8))
        return Data(await mock.control(request)?.body ?? [])
    }

    // MARK: Records

    var exchanges: [Exchange] { state.withLock { $0.exchanges } }
    var operations: [String] { exchanges.map(\.operation) }
    func exchanges(_ operation: String) -> [Exchange] { exchanges.filter { $0.operation == operation } }
    func forgetExchanges() { state.withLock { $0.exchanges = [] } }

    struct Recipient: Decodable, Equatable {
        var id: Int
        var values: [String: String]
        var optedOut: Bool
    }

    func recipients() async throws -> [Recipient] {
        try JSONDecoder().decode([Recipient].self, from: await control("GET", "/recipients", query: "list=23949"))
    }

    func recipient(_ id: String) async throws -> [String: String] {
        try await recipients().first { String($0.id) == id }?.values ?? [:]
    }

    func auditRows() async throws -> [[String: String]] {
        try JSONDecoder().decode([[String: String]].self, from: await control("GET", "/tables", query: "table=29392"))
    }

    struct Behavior: Decodable {
        struct Attribute: Decodable {
            var name: String
            var value: String
        }
        var code: String
        var timestamp: String
        var attributes: [Attribute]
        var contactID: String?
        var request: Int

        subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }
    }

    private struct Behaviors: Decodable { var taken: [Behavior] }

    func behaviors() async throws -> [Behavior] {
        try JSONDecoder().decode(Behaviors.self, from: await control("GET", "/behaviors")).taken
    }

    func addRecipient(_ columns: [String: String]) async throws -> String {
        let call = XMLAPI(.addRecipient, ["LIST_ID": "23949"], columns: XMLAPIFields(columns))
        let result = try await EngageWorkbench.sharedAdd(self, call)
        return result
    }

    /// Adds a recipient without the adapter's own state and journal.
    private static func sharedAdd(_ bench: EngageWorkbench, _ call: XMLAPI) async throws -> String {
        let before = bench.exchanges
        let side = Engage(
            configuration(),
            transport: Wire(bench: bench),
            in: ProviderContext(environment: ClientEnvironment(time: bench.time))
        )
        let id = try await side.xmlapi.perform(call).recipientID
        bench.state.withLock { $0.exchanges = before }
        return try #require(id)
    }
}

/// Sends requests to the mock, with planned faults.
struct Wire: HTTPTransport {
    let bench: EngageWorkbench

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let asked = MockRequest(
            method: request.method.rawValue,
            path: request.path ?? "/",
            headers: request.headerFields.map { .init($0.name.rawName, $0.value) },
            body: body
        )
        let operation = bench.mock.operation(of: asked)
        await bench.standStill(operation)
        let mishap: EngageWorkbench.Mishap? = bench.state.withLock { state in
            guard let place = state.planned.firstIndex(where: { $0.operation == operation || $0.operation == "*" })
            else {
                return nil
            }
            if state.planned[place].after > 0 {
                state.planned[place].after -= 1
                return nil
            }
            let mishap = state.planned[place].mishap
            state.planned[place].times -= 1
            if state.planned[place].times <= 0 { state.planned.remove(at: place) }
            return mishap
        }
        var response: MockResponse?
        switch mishap {
        case .status(let status, let retryAfter, let text, let type):
            var headers = [MockRequest.Header("Content-Type", type)]
            if let retryAfter { headers.append(.init("Retry-After", retryAfter)) }
            response = MockResponse(status: status, headers: headers, body: Array(text.utf8))
        case .lostBefore: break
        case .lostAfter: _ = await bench.mock.respond(to: asked)
        case nil: response = await bench.mock.respond(to: asked)
        }
        bench.state.withLock { $0.exchanges.append(.init(operation: operation, request: asked, response: response)) }
        guard let response else { throw ExperimentationError(.transport, "the connection was lost") }
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
