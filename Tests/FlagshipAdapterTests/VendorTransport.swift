import AdapterKit
import Experimentation
import ExperimentationTesting
import FlagshipAdapter
import Foundation
import HTTPTypes
import MockVendors
import Synchronization

/// A transport directly to the mock vendor in the same process, with faults.
final class VendorTransport: HTTPTransport {
    struct Exchange: Sendable {
        var operation: String
        var request: MockRequest
        var status: Int?
        var limits: HTTPLimits

        var json: [String: FlagValue] { (try? JSON.parse(request.body))?.objectValue ?? [:] }
    }

    enum Failure: Sendable {
        case status(Int)
        case body(String, status: Int = 200)
        /// A body with a date, as the CDN sends it.
        case dated(String, String)
        case error(ErrorCode)
        /// The vendor receives the request, and the answer is lost.
        case lostAnswer
        /// There is no answer, and the connection breaks when the gate opens.
        case stalled(AsyncGate)
        /// The vendor's own answer, once the gate opens.
        case delayed(AsyncGate)
        /// No fault this time.
        case passing
    }

    private struct State {
        var exchanges: [Exchange] = []
        var failures: [(operation: String, failure: Failure)] = []
        var underWay = 0
    }

    let mock: FlagshipMock
    private let state = Mutex(State())

    init(_ mock: FlagshipMock) { self.mock = mock }

    var exchanges: [Exchange] { state.withLock { $0.exchanges } }

    /// Whether failures are still to come.
    var isToFail: Bool { state.withLock { !$0.failures.isEmpty } }
    /// Whether all started requests have been recorded.
    var isQuiet: Bool { state.withLock { $0.underWay == 0 } }

    func exchanges(_ operation: String) -> [Exchange] { exchanges.filter { $0.operation == operation } }

    func fail(_ operation: String, _ failure: Failure, times: Int = 1) {
        state.withLock { $0.failures += Array(repeating: (operation, failure), count: times) }
    }

    /// Lets some requests through and fails all further ones.
    func passThenFail(_ operation: String, passing count: Int) {
        state.withLock { state in
            state.failures =
                Array(repeating: (operation, .passing), count: count)
                + Array(repeating: (operation, .error(.transport)), count: 50)
        }
    }

    func heal() { state.withLock { $0.failures = [] } }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let parts = (request.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let mockRequest = MockRequest(
            method: request.method.rawValue,
            path: String(parts[0]),
            query: parts.count > 1 ? String(parts[1]) : nil,
            headers: request.headerFields.map { MockRequest.Header($0.name.rawName, $0.value) },
            body: body
        )
        let operation = mock.operation(of: mockRequest)
        let failure = state.withLock { state -> Failure? in
            state.underWay += 1
            guard let index = state.failures.firstIndex(where: { $0.operation == operation }) else { return nil }
            return state.failures.remove(at: index).failure
        }
        var reply: HTTPReply?
        switch failure {
        case .status(let status): reply = HTTPReply(response: HTTPResponse(status: .init(code: status)))
        case .body(let text, let status):
            reply = HTTPReply(response: HTTPResponse(status: .init(code: status)), body: Array(text.utf8))
        case .dated(let text, let date):
            reply = HTTPReply(
                response: HTTPResponse(status: .ok, headerFields: [.lastModified: date]),
                body: Array(text.utf8)
            )
        case .error: break
        case .lostAnswer: _ = await mock.respond(to: mockRequest)
        case .stalled(let gate): await gate.wait()
        case .delayed, .passing, nil:
            if case .delayed(let gate) = failure { await gate.wait() }
            let response = await mock.respond(to: mockRequest)
            var fields = HTTPFields()
            for header in response.headers {
                if let name = HTTPField.Name(header.name) { fields[name] = header.value }
            }
            reply = HTTPReply(
                response: HTTPResponse(status: .init(code: response.status), headerFields: fields),
                body: response.body
            )
        }
        let exchange = Exchange(operation: operation, request: mockRequest, status: reply?.status, limits: limits)
        state.withLock { state in
            state.exchanges.append(exchange)
            state.underWay -= 1
        }
        if case .error(let code) = failure { throw ExperimentationError(code, "as the test wants it") }
        guard let reply else { throw ExperimentationError(.transport, "the answer is lost") }
        return reply
    }
}

/// A mock vendor with a file, and a transport to it.
struct Bench {
    static let environmentID = "bkk9glocmjcg0vtmdlng"
    static let apiKey = "flagship-mock-key"

    let mock = FlagshipMock(environmentID: environmentID, apiKey: apiKey)
    let transport: VendorTransport
    let time = ManualTime()
    let log = RecordingLog()
    let store = ClientStore.inMemory()

    init(_ file: String = Bench.file) async throws {
        transport = VendorTransport(mock)
        try await mock.load(Data(file.utf8))
    }

    var environment: ClientEnvironment {
        ClientEnvironment(time: time, jitter: { 0.5 }, log: log)
    }

    func configuration(_ mode: FlagshipConfiguration.Mode = .decisionAPI) -> FlagshipConfiguration {
        FlagshipConfiguration(
            environmentID: Self.environmentID,
            apiKey: Secret(Self.apiKey),
            mode: mode,
            device: FlagshipDevice(
                language: "fr",
                type: "Mobile",
                model: "iPhone12,8",
                osName: "iOS",
                osVersion: "18.0"
            ),
            retry: .none
        )
    }

    func provider(
        _ mode: FlagshipConfiguration.Mode = .decisionAPI,
        _ change: (inout FlagshipConfiguration) -> Void = { _ in }
    ) -> FlagshipProvider {
        var configuration = configuration(mode)
        change(&configuration)
        return FlagshipProvider(configuration: configuration, transport: transport)
    }

    /// The roles of a provider that is started without a client.
    func roles(
        _ mode: FlagshipConfiguration.Mode = .decisionAPI,
        _ change: (inout FlagshipConfiguration) -> Void = { _ in }
    ) async throws -> ProviderRoles {
        try await provider(mode, change).start(in: ProviderContext(environment: environment, state: store.state))
    }

    func client(
        _ mode: FlagshipConfiguration.Mode = .decisionAPI,
        options: ClientOptions = ClientOptions(),
        _ change: (inout FlagshipConfiguration) -> Void = { _ in }
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: provider(mode, change),
            store: store,
            options: options,
            environment: environment
        )
    }

    /// The hits that the vendor accepted.
    var hits: [[String: FlagValue]] {
        get async { await mock.receivedHits.compactMap { try? JSON.parse($0).objectValue } }
    }
}

extension Bench {
    /// A test that splits all users in two, a flag for all users, and one for Lyon only.
    static let file = """
        {"accountSettings":{"enabledXPC":true,"enabled1V1T":false,"troubleshooting":null},
         "campaigns":[
          {"id":"camp-plain","name":"Plain","slug":null,"type":"flag","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"grp-plain","name":"All","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
             "variations":[{"id":"var-plain","name":"P","allocation":100,"modifications":{"type":"FLAG","value":
               {"color":"red","size":7,"ratio":0.5,"whole":3.0,"on":true,"theme":{"dark":false},"list":[1,2]}}}]}]},
          {"id":"camp-test","name":"Test","slug":"the-test","type":"ab","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"grp-test","name":"Everybody","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"fs_all_users","value":""}]}]},
             "variations":[
              {"id":"var-a","name":"A","allocation":0,"reference":true,"modifications":{"type":"FLAG","value":{"cta":"old","onlyA":1}}},
              {"id":"var-b","name":"B","allocation":100,"reference":false,"modifications":{"type":"FLAG","value":{"cta":"new"}}}]}]},
          {"id":"camp-lyon","name":"Lyon","slug":"lyon","type":"perso","bucketRanges":[{"r":[0,100]}],"variationGroups":[
            {"id":"grp-lyon","name":"Lyon","targeting":{"targetingGroups":[{"targetings":[
              {"operator":"EQUALS","key":"city","value":"lyon"}]}]},
             "variations":[{"id":"var-lyon","name":"L","allocation":100,"reference":true,"modifications":{"type":"FLAG","value":{"color":"gold"}}}]}]}]}
        """
}
