import ConformanceKit
import ConformanceSubjects
import Experimentation
import Foundation
import GatewayServer
import MockVendors
import ServiceLifecycle

/// The default without a configuration: a mock of Flagship with the shop of the default scenario, and a SQLite store in
/// a temporary folder, which is deleted at the end.
final class Demonstration: Service {
    let configuration: GatewayConfiguration
    private let mock: MockServer
    private let folder: URL
    private let token: String

    private static let tenant = "shop"

    /// Starts the mock.
    init() async throws {
        guard let flagship = Vendor.named("flagship") else {
            throw ExperimentationError(.unsupported, "There is no mock of Flagship here.")
        }
        let (vendor, _) = try await flagship.mock(with: .shop)
        mock = MockServer(vendor)
        try await mock.start()
        token = UUID().uuidString.replacing("-", with: "").lowercased()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("xp-gateway-\(UUID().uuidString)")
        let credentials = vendor.credentials
        let settings: [String: FlagValue] = [
            "vendor": "flagship", "mode": "bucketing",
            "environmentID": .string(credentials["environmentID"] ?? ""),
            "apiKey": .string(credentials["apiKey"] ?? ""),
            "endpoints": .object(mock.endpoints.mapValues { .string($0) }),
        ]
        let tenant = TenantConfiguration(
            name: Self.tenant,
            tokens: [TokenDigest(of: token)],
            vendor: .object(settings),
            vendorFile: "the demonstration",
            store: .file(folder.appendingPathComponent("events.sqlite"))
        )
        var configuration = GatewayConfiguration(tenants: [tenant])
        configuration.operatorTokens = tenant.tokens
        // There is no proxy in front of the demonstration.
        configuration.drain = .zero
        self.configuration = configuration
    }

    /// Stops last, because tenants may have events to deliver until then.
    func run() async throws {
        try? await gracefulShutdown()
        await mock.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Prints the address: for programs to standard output, for people to standard error.
    func announce(_ address: String) {
        let head: FlagValue = [
            "url": .string(address), "tenant": .string(Self.tenant), "credentials": ["token": .string(token)],
            "vendor": ["name": "flagship", "url": .string(mock.url)],
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(head) else { return }
        Output.print(String(decoding: line, as: UTF8.self) + "\n")
        Output.say(
            """

            One flag of one user:
              curl -s -H 'Authorization: Bearer \(token)' -d '{"context":{"targetingKey":"ada"}}' \\
                '\(address)/ofrep/v1/evaluate/flags/checkout-color'

            All flags:
              curl -s -H 'Authorization: Bearer \(token)' -d '{"context":{"targetingKey":"ada"}}' \\
                '\(address)/ofrep/v1/evaluate/flags'

            An event, accepted durably before the answer, once for each id:
              curl -s -H 'Authorization: Bearer \(token)' \\
                -d '{"id":"1","user":{"id":"ada","consent":true},"event":{"type":"goalCompleted","name":"signed-up"}}' \\
                '\(address)/v1/events'

            A page for people: \(address)/console#token=\(token)

            Control-C ends it.
            """
        )
    }
}
