import Foundation
import Synchronization

/// The Sigma back end as an SDK sees it: a configuration for each project token, and a place for an address.
///
/// It evaluates nothing: every user of a token gets the same configuration, and the `user-id` field is only recorded in
/// the journal. Answers carry `Cache-Control: no-store`, so that no cache in between hides a request.
public final class SigmaMock: MockVendor {
    /// The vendor's name.
    public static let name = "sigma"

    /// The token whose project ``load(_:)`` fills and ``credentials`` names.
    public static let token = "sigma-project-token"

    /// The place that a project answers by default.
    public static let place =
        #"{"city":"Kazan","code":"RU","country":"Russia","ip":"203.0.113.20","state":"Tatarstan"}"#

    private let projects: Mutex<[String: SigmaMockProject]>

    /// Creates a back end with one project.
    ///
    /// - Parameter configuration: The body of that project's `config.json`.
    public init(configuration: String = #"{"use_geo":false,"feature_flags":[],"experiments":[]}"#) {
        projects = Mutex([Self.token: SigmaMockProject(configuration: Array(configuration.utf8))])
    }

    /// The base address, which the SDK configures as `apiURL`.
    public func endpoints(at base: String) -> [String: String] {
        ["api": base + (base.hasSuffix("/") ? "" : "/") + "api/v1/"]
    }

    /// The project token, under the name of an application's configuration.
    public var credentials: [String: String] { ["projectToken": Self.token] }

    /// `config`, `geo` or `unknown`.
    public func operation(of request: MockRequest) -> String {
        switch request.path {
        case "/api/v1/config.json": "config"
        case "/api/v1/geo": "geo"
        default: "unknown"
        }
    }

    /// Answers a request as the vendor would.
    public func respond(to request: MockRequest) async -> MockResponse {
        let operation = operation(of: request)
        guard operation != "unknown" else { return Self.refusal(404, "not_found") }
        guard request.method == "GET" else {
            var answer = Self.refusal(405, "method_not_allowed")
            answer.headers.append(.init("Allow", "GET"))
            return answer
        }
        guard let token = request.header("token"), !token.isEmpty else { return Self.refusal(401, "token_missing") }
        guard let behaviour = projects.withLock({ $0[token]?.behaviour }) else {
            return Self.refusal(403, "token_unknown")
        }
        if behaviour.requiresFields, let missing = Self.missingField(of: request) { return Self.refusal(400, missing) }
        let plan = projects.withLock { $0[token]?.answer(to: operation) }
        guard let plan else { return Self.refusal(403, "token_unknown") }
        if plan.milliseconds > 0 { try? await Task.sleep(for: .milliseconds(plan.milliseconds)) }
        return plan.response
    }

    /// Resets the failure counts; keeps configurations and settings.
    public func reset() async {
        projects.withLock { projects in
            for token in projects.keys { projects[token]?.failed = [:] }
        }
    }

    /// Replaces the configuration of ``token`` with a plain `config.json`, and restores its default settings.
    public func load(_ world: Data) async throws(MockWorldError) {
        let configuration = Array(world)
        if let complaint = SigmaMockProject.complaint(about: configuration) { throw MockWorldError(complaint) }
        projects.withLock { $0[Self.token] = SigmaMockProject(configuration: configuration) }
    }

    /// Answers `GET /state`, and `GET`, `PUT` and `DELETE` of `/{token}`.
    ///
    /// `PUT` takes an object of these members, all optional: `config` (an object, or a text that is served verbatim),
    /// `geo` (likewise), `status`, `failFirst`, `delayMs`, `emptyBody`, `truncateBody`, `dropConnection`,
    /// `requiresFields`. It creates a project for an unknown token.
    public func control(_ request: MockRequest) async -> MockResponse? {
        let segments = request.segments
        guard segments.count == 1, let token = segments.first else { return nil }
        switch (request.method, token) {
        case ("GET", "state"):
            let all = projects.withLock { $0 }
            return Self.answer(.object(all.mapValues { $0.state }))
        case ("GET", _):
            guard let project = projects.withLock({ $0[token] }) else { return Self.refusal(404, "token_unknown") }
            return Self.answer(project.state)
        case ("PUT", "state"):
            return Self.refusal(405, "method_not_allowed")
        case ("PUT", _):
            do {
                let change = try SigmaMockChange(request.body)
                let project = projects.withLock { projects in
                    projects[token, default: SigmaMockProject(configuration: [])].apply(change)
                    return projects[token]
                }
                return Self.answer(project?.state ?? .null)
            } catch {
                return Self.refusal(400, error.description)
            }
        case ("DELETE", _):
            let wasThere = projects.withLock { $0.removeValue(forKey: token) != nil }
            return wasThere ? MockResponse(status: 204) : Self.refusal(404, "token_unknown")
        default:
            return nil
        }
    }

    // MARK: In-process control

    /// Serves a configuration for a token, creating the project if necessary.
    public func serve(_ configuration: String, for token: String = SigmaMock.token) {
        projects.withLock {
            $0[token, default: SigmaMockProject(configuration: [])].configuration = Array(configuration.utf8)
        }
    }

    /// Serves a place for a known token; does nothing for others.
    public func servePlace(_ place: String, for token: String = SigmaMock.token) {
        projects.withLock { $0[token]?.place = Array(place.utf8) }
    }

    /// Changes how a project answers.
    public func set(_ behaviour: SigmaMockBehaviour, for token: String = SigmaMock.token) {
        projects.withLock {
            $0[token]?.behaviour = behaviour
            $0[token]?.failed = [:]
        }
    }

    /// The fields that every request of the vendor's SDK has besides the token and `user-id`, with their fixed values.
    private static let fields: [(name: String, value: String?)] = [
        ("sdk-name", nil), ("sdk-version", nil), ("Content-Type", "application/json"),
    ]

    private static func missingField(of request: MockRequest) -> String? {
        for (name, value) in fields {
            guard let found = request.header(name), !found.isEmpty, found == value ?? found else {
                return name.lowercased().replacing("-", with: "_") + "_missing"
            }
        }
        return nil
    }

    private static func refusal(_ status: Int, _ error: String) -> MockResponse {
        var answer = answer(.object(["error": .string(error)]))
        answer.status = status
        return answer
    }

    private static func answer(_ value: MockJSON) -> MockResponse { SigmaMockProject.response(value.bytes) }
}
