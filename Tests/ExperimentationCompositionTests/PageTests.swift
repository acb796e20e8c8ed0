import AdapterKit
import EngageAdapter
import Experimentation
import ExperimentationComposition
import FlagshipAdapter
import Foundation
import SigmaAdapter
import Testing

@Suite("The page about compositions")
struct PageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    @Test(
        "shows the programs that are compiled here, character by character",
        arguments: ["FlagsHereEventsThere", "MailAndWarehouse", "OneFlagFromEach"]
    )
    func programs(name: String) throws {
        let page = Self.folder.appending(path: "../../docs/composing.md")
        let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        let program = try String(contentsOf: Self.folder.appending(path: "Programs/\(name).swift"), encoding: .utf8)
        #expect(blocks.contains(program.trimmingCharacters(in: .newlines)))
    }

    @Test("its programs start, with the capabilities that the page describes")
    func started() async throws {
        let client = try await flagsHereEventsThere(.inMemory())
        #expect(client.supports(.exposures) && client.supports(.campaigns) && client.supports(.flags))
        await client.shutdown(within: .zero)
        let flagship = FlagshipConfiguration(environmentID: "bkk9glocmjcg0vtmdlng", apiKey: "key")
        let credentials = EngageConfiguration.Credentials(clientID: "id", clientSecret: "s", refreshToken: "t")
        let engage = try EngageConfiguration(host: "https://api0.example.com", credentials: credentials, listID: "1")
        let shop = try await mailAndWarehouse(flagship, engage, .inMemory())
        #expect(shop.supports(.purchase(Order(id: "1"))) && shop.supports(.custom("spun")))
        await shop.shutdown(within: .zero)
        let both = try await oneFlagFromEach(flagship, .init(projectToken: "token"), .inMemory())
        #expect(both.supports(.holdouts) && !both.supports(.stickyAssignments))
        await both.shutdown(within: .zero)
    }
}
