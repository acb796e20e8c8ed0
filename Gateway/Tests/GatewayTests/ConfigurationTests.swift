import Experimentation
import FlagManifest
import Foundation
import Testing

@testable import GatewayServer

@Suite("Configuration")
struct ConfigurationTests {
    private static let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    /// Reads a file with this text, beside a vendor's file.
    private func read(_ text: String, _ variables: [String: String] = [:]) async throws -> GatewayConfiguration {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(#"{"vendor":"flagship"}"#.utf8).write(to: folder.appendingPathComponent("vendor.json"))
        let file = folder.appendingPathComponent("gateway.json")
        try Data(text.utf8).write(to: file)
        return try await ConfigurationFile(path: file.path, variables: variables).read()
    }

    private static func tenant(_ more: String = "") -> String {
        #"{"vendor":"vendor.json","tokens":["\#(digest)"]\#(more)}"#
    }

    /// A file with two tenants that have these stores.
    private static func tenants(store one: String, _ other: String) -> String {
        let token = String(repeating: "0", count: 64)
        return #"{"tenants":{"other":{"vendor":"vendor.json","tokens":["\#(token)"],"store":\#(one)},"#
            + #""shop":{"vendor":"vendor.json","tokens":["\#(digest)"],"store":\#(other)}}}"#
    }

    @Test("a file is read with defaults, and the environment overrides it")
    func values() async throws {
        let text =
            #"{"http":{"port":9000},"tenants":{"shop":\#(Self.tenant(#","types":["price=float"],"requestsPerSecond":5"#))}}"#
        let configuration = try await read(
            text,
            ["XP_GATEWAY_HTTP_PORT": "9001", "XP_GATEWAY_TENANTS_SHOP_CONSENT": "granted"]
        )
        #expect(configuration.port == 9_001)
        #expect(configuration.host == "127.0.0.1")
        let tenant = try #require(configuration.tenants.first)
        #expect(tenant.name == "shop")
        #expect(tenant.tokens == [TokenDigest(of: "test")])
        #expect(tenant.vendor == ["vendor": "flagship"])
        #expect(tenant.consent == .granted)
        #expect(tenant.types == ["price": .float])
        #expect(tenant.rateLimit == RateLimit(perSecond: 5, burst: 10))
        #expect(tenant.store == .memory)
        #expect(tenant.reuse == AnswerReuse())
        #expect(tenant.decisionBytes == 64_000_000)
        let decisions = #","decisions":{"seconds":3,"graceSeconds":0,"failureSeconds":0.5,"megabytes":1}"#
        let other = try #require(try await read(#"{"tenants":{"shop":\#(Self.tenant(decisions))}}"#).tenants.first)
        #expect(other.reuse == AnswerReuse(lifetime: .seconds(3), grace: .zero, failures: .milliseconds(500)))
        #expect(other.decisionBytes == 1_000_000)
    }

    @Test("a database's address can come from the environment and is never shown")
    func database() async throws {
        let store = #","store":{"postgres":{"url":{"env":"SHOP_DATABASE"},"connections":2}}"#
        let configuration = try await read(
            #"{"tenants":{"shop":\#(Self.tenant(store))}}"#,
            ["SHOP_DATABASE": "postgresql://app:s3cret@localhost/app"]
        )
        let tenant = try #require(configuration.tenants.first)
        let database = SharedDatabase(
            url: "postgresql://app:s3cret@localhost/app",
            schema: "experimentation_shop",
            connections: 2
        )
        #expect(tenant.store == .postgres(database))
        #expect(tenant.assignments == .kept)
        let meanwhile =
            #","assignments":"computed","store":{"postgres":{"url":"postgresql:///a","meanwhile":"m.sqlite"}}"#
        let other = try #require(try await read(#"{"tenants":{"shop":\#(Self.tenant(meanwhile))}}"#).tenants.first)
        #expect(other.assignments == .computed)
        guard case .postgres(let shared) = other.store else {
            Issue.record("\(other.store)")
            return
        }
        #expect(shared.meanwhile?.lastPathComponent == "m.sqlite")
        var dumped = "\(tenant)"
        dump(tenant, to: &dumped)
        #expect(!dumped.contains("s3cret"))
    }

    @Test(
        "an invalid setting is named in the error",
        arguments: [
            ("{", "gateway.json"), ("[]", "expected an object"), ("{}", "\"tenants\""),
            (#"{"tenants":{}}"#, "\"tenants\""),
            (#"{"tenants":{"A b":{}}}"#, "tenants.A b"), (#"{"tenants":{"shop":{}}}"#, "tenants.shop.vendor"),
            (#"{"tenants":{"shop":{"vendor":"none.json"}}}"#, "tenants.shop.vendor"),
            (#"{"tenants":{"shop":{"vendor":"vendor.json"}}}"#, "tenants.shop.tokens"),
            (#"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["x"]}}}"#, "tenants.shop.tokens"),
            (#"{"http":{"port":"x"},"tenants":{"shop":TENANT}}"#, "http.port"),
            (#"{"http":{"port":70000},"tenants":{"shop":TENANT}}"#, "http.port"),
            (#"{"http":{"prot":1},"tenants":{"shop":TENANT}}"#, "http.prot"),
            (#"{"tenants":{"shop":TENANT,"other":TENANT}}"#, "tenants.shop.tokens"),
            (Self.tenants(store: #""s.sqlite""#, #""./s.sqlite""#), "tenants.shop.store"),
            (
                Self.tenants(
                    store: #"{"postgres":{"url":"postgresql:///a","schema":"x"}}"#,
                    #"{"postgres":{"url":"postgresql:///a","schema":"x"}}"#
                ),
                "tenants.shop.store"
            ),
            (
                Self.tenants(
                    store: #"{"postgres":{"url":"postgresql:///a","meanwhile":"m.sqlite"}}"#,
                    #"{"postgres":{"url":"postgresql:///a","meanwhile":"m.sqlite"}}"#
                ),
                "tenants.shop.store.postgres.meanwhile"
            ),
            (
                Self.tenants(
                    store: #"{"postgres":{"url":"postgresql:///a","meanwhile":"m.sqlite"}}"#,
                    #""m.sqlite""#
                ),
                "tenants.shop.store"
            ),
            (
                #"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["DIGEST"],"store":{"postgres":{"url":{"env":"NONE"}}}}}}"#,
                "tenants.shop.store.postgres.url.env"
            ),
            (
                #"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["DIGEST"],"store":{"postgres":{"uri":"x"}}}}}"#,
                "tenants.shop.store.postgres.uri"
            ),
            (
                #"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["DIGEST"],"exposures":"x"}}}"#,
                "tenants.shop.exposures"
            ),
            (#"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["DIGEST"],"types":["x"]}}}"#, "tenants.shop.types"),
            (
                #"{"tenants":{"shop":{"vendor":"vendor.json","tokens":["DIGEST"],"decisions":{"seconds":-1}}}}"#,
                "tenants.shop.decisions.seconds"
            ),
        ]
    )
    func wrong(text: String, expected: String) async throws {
        let text = text.replacing("TENANT", with: Self.tenant()).replacing("DIGEST", with: Self.digest)
        let error = await #expect(throws: ExperimentationError.self) { try await read(text) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }

    @Test("a mistyped environment variable is named in the error")
    func strayVariable() async throws {
        for name in ["XP_GATEWAY_HTTP_PROT", "XP_GATEWAY_TENANTS_SHOPP_CONSENT", "XP_GATEWAY_HTTP_BODYSECONDS"] {
            let error = await #expect(throws: ExperimentationError.self) {
                try await read(#"{"tenants":{"shop":\#(Self.tenant())}}"#, [name: "1"])
            }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains(name) == true, "\(error?.message ?? "")")
        }
    }

    @Test("every setting can be given by the environment variable that its name makes")
    func variables() async throws {
        for setting in Setting.all(of: ["shop"]) {
            switch setting.kind {
            case .whole, .number: break
            default: continue
            }
            // Only a variable that is read can be out of range.
            let error = await #expect(throws: ExperimentationError.self) {
                try await read(
                    #"{"tenants":{"shop":\#(Self.tenant(#","store":{"postgres":{"url":"postgresql:///a"}}"#))}}"#,
                    [setting.variable: "-1"]
                )
            }
            let message = error?.message ?? ""
            #expect(message.contains("\"\(setting.key)\""), "\(setting.variable): \(message)")
        }
    }

    @Test("the two tables in docs/gateway.md match the code")
    func reference() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../docs")
        let page = try String(contentsOf: root.appendingPathComponent("gateway.md"), encoding: .utf8)
        let tables = page.components(separatedBy: "\n\n").filter { $0.hasPrefix("| Key |") }
        #expect(tables == [SettingReference.gateway, SettingReference.tenant])
    }
}
