import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import MockVendors
import Testing

@testable import SigmaAdapter

/// The defaults of the vendor's reference, each tested by its effect on an application.
@Suite("Defaults")
struct DefaultsTests {
    @Test("every default is the vendor reference's")
    func reference() async throws {
        let stage = try Stage()
        let options = SigmaClientOptions(store: stage.store)
        let configuration = SigmaConfiguration(projectToken: "token")
        let root = try JSON.decode(
            SigmaWire.Root.self,
            from: Array(#"{"experiments":[{"name":"e","salt":"s","allocation":100}]}"#.utf8)
        )
        var made = options
        made.transport = stage.transport
        made.environment = ClientEnvironment(time: stage.time, jitter: { 0.5 })
        let client = try SigmaClientRegistry().initializeClient(projectToken: SigmaMock.token, options: made)
        stage.transport.setReachable(false)
        _ = await failure { () async throws(SigmaError) in try await client.text("button") }
        let request = try #require(stage.transport.requests.first)
        let privateID = await client.profile.privateID()
        let table: [(String, String, String)] = [
            (
                "apiURL", "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")",
                "https://api.expf.ru/api/v1/config.json"
            ),
            ("cacheTTL", "\(configuration.cacheLifetime)", "\(Duration.seconds(10))"),
            ("cacheTTL, at the least", "\(SigmaConfiguration.shortestLifetime)", "\(Duration.seconds(10))"),
            ("retryCount, of the page", "\(stage.transport.requests.count - 1)", "3"),
            ("retryCount, of SDK 1.8.1, neutral client", "\(configuration.retryCount)", "0"),
            ("fetchTimeout", "\(stage.transport.limits.first?.deadline ?? .zero)", "\(Duration.seconds(60))"),
            (
                "fetchTimeout below half a second", "\(SigmaConfiguration.timeout(.milliseconds(499)))",
                "\(Duration.seconds(60))"
            ),
            ("tag", client.tag, "default"),
            ("defaultClientTag", Sigma.defaultClientTag, "default"),
            ("failures, of the page", "\(options.failures)", "nil"),
            ("a failure without the place", "\(options.failsWithoutPlace)", "true"),
            ("initialUser: a generated id of so many characters", "\(privateID.count)", "80"),
            ("user-id on the wire is the generated id", "\(request.headerFields.userID == privateID)", "true"),
            ("use_geo", "\(root.useGeo)", "true"),
            ("life of a property", "\(options.assumptions.propertyLifetime ?? .zero)", "\(Duration.seconds(86_400))"),
        ]
        for (name, found, expected) in table { #expect(found == expected, "\(name)") }
    }
}
