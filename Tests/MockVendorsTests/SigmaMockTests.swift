import Foundation
import MockVendors
import Testing

@Suite("Sigma's back end answers as the vendor's does")
struct SigmaMockTests {
    private let sigma = SigmaMock(configuration: #"{"feature_flags":[]}"#)

    @Test("the configuration is returned with a valid token, and must not be cached")
    func configuration() async {
        let answer = await ask("/api/v1/config.json")
        #expect(answer.status == 200)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"feature_flags":[]}"#)
        #expect(
            answer.headers == [
                .init("Content-Type", "application/json; charset=utf-8"), .init("Cache-Control", "no-store"),
            ]
        )
    }

    @Test("the location is a flat object of strings")
    func place() async throws {
        let answer = await ask("/api/v1/geo")
        #expect(answer.status == 200)
        let place = try JSONDecoder().decode([String: String].self, from: Data(answer.body))
        #expect(place["city"] == "Kazan")
    }

    @Test(
        "invalid requests are rejected",
        arguments: [
            ("GET", "/api/v1/config.json", nil, 401, "token_missing"),
            ("GET", "/api/v1/config.json", "", 401, "token_missing"),
            ("GET", "/api/v1/geo", "stranger", 403, "token_unknown"),
            ("GET", "/api/v1/flags", SigmaMock.token, 404, "not_found"),
            ("GET", "/config.json", SigmaMock.token, 404, "not_found"),
            ("POST", "/api/v1/config.json", SigmaMock.token, 405, "method_not_allowed"),
        ] as [(String, String, String?, Int, String)]
    )
    func refusals(method: String, path: String, token: String?, status: Int, error: String) async {
        let answer = await ask(path, method: method, token: token)
        #expect(answer.status == status)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"\#(error)"}"#)
    }

    @Test("header names ignore case")
    func headerCase() async {
        let request = MockRequest(
            method: "GET",
            path: "/api/v1/config.json",
            headers: Self.fields.map { .init($0.name.uppercased(), $0.value) } + [.init("TOKEN", SigmaMock.token)]
        )
        #expect(await sigma.respond(to: request).status == 200)
    }

    @Test("the first requests fail on demand, and again after a reset")
    func failFirst() async {
        sigma.set(SigmaMockBehaviour(failFirst: 2))
        var statuses: [Int] = []
        for _ in 0..<3 { statuses.append(await ask("/api/v1/config.json").status) }
        await sigma.reset()
        statuses.append(await ask("/api/v1/config.json").status)
        #expect(statuses == [503, 503, 200, 503])
    }

    @Test("bodies can be omitted or truncated, statuses replaced, connections dropped")
    func misbehaviour() async {
        sigma.set(SigmaMockBehaviour(emptyBody: true))
        #expect(await ask("/api/v1/config.json").body.isEmpty)
        sigma.set(SigmaMockBehaviour(truncateBody: true))
        #expect(await ask("/api/v1/config.json").body.count == 10)
        sigma.set(SigmaMockBehaviour(status: 418))
        #expect(await ask("/api/v1/config.json").status == 418)
        sigma.set(SigmaMockBehaviour(dropConnection: true))
        #expect(await ask("/api/v1/config.json").fault == .reset)
    }

    @Test("a project is created, changed, read and removed under its token")
    func control() async throws {
        let body = #"{"config":{"experiments":[]},"geo":"broken","failFirst":1,"status":null}"#
        let made = await control("PUT", "/other", body)
        #expect(made?.status == 200)
        #expect(await ask("/api/v1/config.json", token: "other").status == 503)
        #expect(await ask("/api/v1/config.json", token: "other").status == 200)
        #expect(await ask("/api/v1/geo", token: "other").status == 503)
        #expect(await ask("/api/v1/geo", token: "other").body == Array("broken".utf8))
        let state = try #require(await control("GET", "/state"))
        struct State: Decodable { var failed: Int }
        let all = try JSONDecoder().decode([String: State].self, from: Data(state.body))
        #expect(all.mapValues(\.failed) == ["other": 2, SigmaMock.token: 0])
        #expect(await control("DELETE", "/other")?.status == 204)
        #expect(await control("GET", "/other")?.status == 404)
        #expect(await ask("/api/v1/config.json", token: "other").status == 403)
    }

    @Test(
        "invalid settings are rejected by name, and change nothing",
        arguments: [
            ("[]", "expected a JSON object"), ("{\"speed\":1}", "speed: unknown"),
            ("{\"status\":42}", "status: expected a whole number from 100 to 599"),
            ("{\"failFirst\":\"two\"}", "failFirst: expected a whole number"),
            ("{\"emptyBody\":3}", "emptyBody: expected true or false"),
            ("{\"config\":7}", "config: expected an object"),
        ]
    )
    func badControl(body: String, message: String) async {
        let answer = await control("PUT", "/\(SigmaMock.token)", body)
        #expect(answer?.status == 400)
        let text = String(decoding: answer?.body ?? [], as: UTF8.self)
        #expect(text.contains(message))
        #expect(await ask("/api/v1/config.json").status == 200)
    }

    @Test("a plain config.json is a world; anything else is rejected and changes nothing")
    func loading() async throws {
        try await sigma.load(Data(#"{"experiments":[],"use_geo":false}"#.utf8))
        #expect(await ask("/api/v1/config.json").body == Array(#"{"experiments":[],"use_geo":false}"#.utf8))
        for text in ["", "[]", "{}", #"{"experiments":{}}"#] {
            await #expect(throws: MockWorldError.self) { try await sigma.load(Data(text.utf8)) }
        }
        #expect(await ask("/api/v1/config.json").body == Array(#"{"experiments":[],"use_geo":false}"#.utf8))
    }

    @Test("the address and the token are printed as an application configures them")
    func credentials() {
        #expect(sigma.endpoints(at: "http://127.0.0.1:1") == ["api": "http://127.0.0.1:1/api/v1/"])
        #expect(sigma.credentials == ["projectToken": SigmaMock.token])
    }

    private func ask(
        _ path: String,
        method: String = "GET",
        token: String? = SigmaMock.token
    ) async -> MockResponse {
        await sigma.respond(
            to: MockRequest(
                method: method,
                path: path,
                headers: Self.fields + (token.map { [.init("token", $0)] } ?? [])
            )
        )
    }

    /// The fields that the vendor's SDK sends besides the token.
    private static let fields: [MockRequest.Header] = [
        .init("user-id", "u"), .init("sdk-name", "ios"), .init("sdk-version", "1.8.1"),
        .init("Content-Type", "application/json"),
    ]

    @Test(
        "a request without a field that the vendor's SDK sends is rejected, unless configured otherwise",
        arguments: 1..<4
    )
    func missingFields(index: Int) async {
        var fields = Self.fields
        let name = fields.remove(at: index).name.lowercased()
        let request = MockRequest(
            method: "GET",
            path: "/api/v1/config.json",
            headers: fields + [.init("token", SigmaMock.token)]
        )
        let answer = await sigma.respond(to: request)
        #expect(answer.status == 400)
        let error = name.replacing("-", with: "_") + "_missing"
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"\#(error)"}"#)
        sigma.set(SigmaMockBehaviour(requiresFields: false))
        #expect(await sigma.respond(to: request).status == 200)
    }

    @Test("the vendor ignores the field user-id: without it, every user's configuration is the same")
    func nobody() async {
        let fields = Self.fields.dropFirst() + [.init("token", SigmaMock.token)]
        let request = MockRequest(method: "GET", path: "/api/v1/config.json", headers: Array(fields))
        let answer = await sigma.respond(to: request)
        #expect(answer.status == 200)
        #expect(answer == (await ask("/api/v1/config.json")))
    }

    @Test("each route fails as often as configured, independently of the other")
    func failuresOfEachRoute() async {
        sigma.set(SigmaMockBehaviour(failFirst: 1))
        var statuses: [Int] = []
        for path in ["config.json", "geo", "config.json", "geo"] {
            statuses.append(await ask("/api/v1/" + path).status)
        }
        #expect(statuses == [503, 503, 200, 200])
    }

    private func control(_ method: String, _ path: String, _ body: String = "") async -> MockResponse? {
        await sigma.control(MockRequest(method: method, path: path, body: Array(body.utf8)))
    }
}
