import Foundation
import Synchronization

/// A small Engage: the token endpoint, the XML interface over lists and tables, and the endpoint for behaviors.
///
/// Without a world it has the credentials `client`, `secret` and `refresh`, the flexible list 23949 and the audit table
/// 29392. `EngageMockBackEnd` documents the format of worlds.
///
/// In addition to the paths of every mock vendor, under `/_mock/`:
///
/// | Path | Answer |
/// |---|---|
/// | `GET state` | everything: lists, tables, tokens, behaviors, calls in flight |
/// | `GET recipients?list=ID` | the recipients of a list |
/// | `GET tables?table=ID` | the rows of a table |
/// | `GET behaviors` | the accepted behaviors, their flaws, and the number of duplicates |
/// | `GET tokens` | the issued tokens |
/// | `POST expire-tokens` | revokes every token |
/// | `POST settings` | replaces the settings |
/// | `POST faults` | adds faults with the vendor's codes: `[{"operation":"UpdateRecipient","code":50,"applied":true}]` |
public final class EngageMock: MockVendor {
    /// The vendor's name.
    public static let name = "engage"

    private struct State: Sendable {
        var configured: EngageMockBackEnd
        var world: EngageMockBackEnd
        var tokens: EngageTokens
        var behaviors = EngageBehaviors()
        var faults: [EngageScriptedFault] = []
        var underWay = 0
        var mostUnderWay = 0
        var calls: [String: Int] = [:]

        init(_ world: EngageMockBackEnd) {
            configured = world
            self.world = world
            tokens = EngageTokens(credentials: world.credentials)
        }
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date

    /// Creates a vendor with the standard world.
    ///
    /// - Parameter now: The vendor's clock, which token expiry uses.
    public init(now: @escaping @Sendable () -> Date = { Date() }) {
        state = Mutex(State(.standard))
        self.now = now
    }

    /// The initial world, in the format that ``load(_:)`` takes.
    public static var standardWorld: Data {
        // The standard world holds only text and numbers, which always encode.
        (try? JSONEncoder().encode(EngageMockBackEnd.standard)) ?? Data()
    }

    /// The credentials an application needs, under the names of its configuration.
    public var credentials: [String: String] {
        state.withLock {
            [
                "clientID": $0.world.credentials.clientID,
                "clientSecret": $0.world.credentials.clientSecret,
                "refreshToken": $0.world.credentials.refreshToken,
                "listID": $0.world.lists.first.map { String($0.id) } ?? "",
            ]
        }
    }

    /// The base addresses that an application configures; one address serves everything.
    public func endpoints(at base: String) -> [String: String] {
        ["host": base.hasSuffix("/") ? base : base + "/"]
    }

    /// Names the operation: `token`, `events`, `eventErrors`, the name of an XML operation, or `XMLAPI` if it can't be
    /// parsed.
    public func operation(of request: MockRequest) -> String {
        switch request.path {
        case "/oauth/token": return "token"
        case "/rest/events/submission": return "events"
        case "/rest/events/errors": return "eventErrors"
        case "/XMLAPI":
            return Self.document(of: request).flatMap(EngageMarkup.parse)?.child("Body")?.children.first?.name
                ?? "XMLAPI"
        default: return "unknown"
        }
    }

    /// Answers as the vendor would.
    public func respond(to request: MockRequest) async -> MockResponse {
        let operation = operation(of: request)
        guard operation != "unknown" else {
            return MockResponse(status: 404, type: "text/html", text: "<html>404</html>")
        }
        let latency: Int? = state.withLock { state in
            state.calls[operation, default: 0] += 1
            guard state.underWay < state.world.settings.concurrency else { return nil }
            state.underWay += 1
            state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            return state.world.settings.latency
        }
        guard let latency else {
            return .json(#"{"error":"too_many_requests"}"#, status: 429)
        }
        if latency > 0 { try? await Task.sleep(for: .milliseconds(latency)) }
        return state.withLock { state in
            state.underWay -= 1
            return answer(request, operation: operation, in: &state)
        }
    }

    private func answer(_ request: MockRequest, operation: String, in state: inout State) -> MockResponse {
        let now = now()
        if operation == "token" { return state.tokens.grant(request, settings: state.world.settings, now: now) }
        guard state.tokens.admits(request.header("Authorization"), at: now) else {
            return .json(#"{"error":"invalid_token","error_description":"sign in first"}"#, status: 401)
        }
        switch operation {
        case "events":
            if let fault = fault(for: operation, in: &state) {
                return .json(#"{"error":"\#(fault.code)"}"#, status: 400)
            }
            return state.behaviors.submit(request, world: state.world, now: now)
        case "eventErrors": return state.behaviors.errors(request)
        default: return execute(request, operation: operation, in: &state, now: now)
        }
    }

    private func execute(
        _ request: MockRequest,
        operation: String,
        in state: inout State,
        now: Date
    ) -> MockResponse {
        guard request.method == "POST" else { return MockResponse(status: 405) }
        do throws(EngageFault) {
            guard let text = Self.document(of: request), !text.isEmpty else { throw .serverError }
            guard let root = EngageMarkup.parse(text), root.name == "Envelope", let body = root.child("Body"),
                body.children.count == 1, let asked = body.children.first
            else { throw .invalidRequest }
            let scripted = fault(for: operation, in: &state)
            if let scripted, scripted.applied != true { throw Self.fault(scripted) }
            let result = try state.world.perform(asked, now: now)
            if let scripted { throw Self.fault(scripted) }
            return .xml("<Envelope><Body><RESULT>\(result)</RESULT></Body></Envelope>")
        } catch {
            return .xml(error.document)
        }
    }

    /// The envelope in a request: the form field `xml`, or the body itself if it was sent as XML.
    private static func document(of request: MockRequest) -> String? {
        let type = request.header("Content-Type")?.lowercased() ?? ""
        if type.hasPrefix("text/xml") || type.hasPrefix("application/xml") { return request.text }
        return FormEncoding.decode(request.text).first { $0.name == "xml" }?.value
    }

    private static func fault(_ scripted: EngageScriptedFault) -> EngageFault {
        EngageFault(scripted.code, scripted.text ?? "Fault \(scripted.code), as asked for")
    }

    private func fault(for operation: String, in state: inout State) -> EngageScriptedFault? {
        guard
            let index = state.faults.firstIndex(where: { fault in
                fault.operation == nil || fault.operation == operation
            })
        else { return nil }
        var fault = state.faults[index]
        if let after = fault.after, after > 0 {
            state.faults[index].after = after - 1
            return nil
        }
        let times = fault.times ?? 1
        if times <= 1 { state.faults.remove(at: index) } else { state.faults[index].times = times - 1 }
        fault.times = 1
        return fault
    }

    /// Forgets tokens, added recipients, behaviors and faults; keeps the loaded world.
    public func reset() async {
        state.withLock { $0 = State($0.configured) }
    }

    /// Replaces the world; `EngageMockBackEnd` documents its format.
    public func load(_ world: Data) async throws(MockWorldError) {
        let world = try EngageMockBackEnd.reading(world)
        state.withLock { $0 = State(world) }
    }
}

// MARK: - What tests and people ask

extension EngageMock {
    /// Answers requests under `/_mock/`; the type's documentation lists them.
    public func control(_ request: MockRequest) async -> MockResponse? {
        switch (request.method, request.segments.first) {
        case ("GET", "state"):
            return Self.json(
                state.withLock { Picture($0.world, $0.behaviors, $0.tokens, $0.underWay, $0.mostUnderWay, $0.calls) }
            )
        case ("GET", "recipients"):
            let id = request.queryItem("list")
            return Self.json(
                state.withLock { state in
                    state.world.lists.filter { id == nil || String($0.id) == id }.flatMap(\.recipients)
                }
            )
        case ("GET", "tables"):
            let id = request.queryItem("table")
            return Self.json(
                state.withLock { state in
                    state.world.tables.filter { id == nil || String($0.id) == id }.flatMap(\.rows)
                }
            )
        case ("GET", "behaviors"):
            return Self.json(state.withLock { BehaviorPicture($0.behaviors) })
        case ("GET", "tokens"):
            return Self.json(state.withLock { $0.tokens.issued })
        case ("POST", "expire-tokens"):
            state.withLock { $0.tokens.expireAll() }
            return .json("{}")
        case ("POST", "settings"):
            guard let settings = try? JSONDecoder().decode(EngageSettings.self, from: Data(request.body)) else {
                return .json(#"{"error":"not a set of settings"}"#, status: 400)
            }
            state.withLock {
                $0.world.settings = settings
                $0.configured.settings = settings
            }
            return .json("{}")
        case ("POST", "faults"):
            guard let faults = try? JSONDecoder().decode([EngageScriptedFault].self, from: Data(request.body)) else {
                return .json(#"{"error":"not a list of faults"}"#, status: 400)
            }
            state.withLock { $0.faults += faults }
            return .json("{}")
        default:
            return nil
        }
    }

    private static func json(_ value: some Encodable) -> MockResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.dateEncodingStrategy = .iso8601
        guard let data = try? encoder.encode(value) else { return MockResponse(status: 500) }
        return .json(String(decoding: data, as: UTF8.self))
    }

    private struct BehaviorPicture: Encodable {
        var taken: [EngageBehaviors.Behavior]
        var flaws: [EngageBehaviors.Flaw]
        var requests: Int
        var refused: Int
        var duplicates: Int

        init(_ behaviors: EngageBehaviors) {
            taken = behaviors.taken
            flaws = behaviors.flaws
            requests = behaviors.requests
            refused = behaviors.refused
            duplicates = behaviors.duplicates
        }
    }

    private struct Picture: Encodable {
        var lists: [EngageMockBackEnd.List]
        var tables: [EngageMockBackEnd.Table]
        var behaviors: BehaviorPicture
        var tokens: [EngageTokens.Issued]
        var tokenRequests: Int
        var underWay: Int
        var mostUnderWay: Int
        var calls: [String: Int]

        init(
            _ world: EngageMockBackEnd,
            _ behaviors: EngageBehaviors,
            _ tokens: EngageTokens,
            _ underWay: Int,
            _ mostUnderWay: Int,
            _ calls: [String: Int]
        ) {
            lists = world.lists
            tables = world.tables
            self.behaviors = BehaviorPicture(behaviors)
            self.tokens = tokens.issued
            tokenRequests = tokens.requests
            self.underWay = underWay
            self.mostUnderWay = mostUnderWay
            self.calls = calls
        }
    }
}
