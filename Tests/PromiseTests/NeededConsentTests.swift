import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing
import VendorCatalog

private typealias Catalogue = ConformanceSubjects.Vendor

@Suite("Which vendors need consent")
struct NeededConsentTests {
    private static let subjects = (Catalogue.all.flatMap(\.subjects) + Catalogue.destinations).map(\.name)

    @Test("the catalog says the same of each vendor as its provider", arguments: subjects)
    func asTheProviders(name: String) async throws {
        let stage = try await #require(Catalogue.played(name)).open(.empty)
        let provider = try await stage.makeProvider()
        let client = try await ExperimentationClient(provider: provider)
        #expect(VendorCatalog.needsConsent(destination: provider.name) == client.roles.needsConsent)
        await client.shutdown(within: .zero)
        await stage.close()
    }
}
