import Experimentation
import ExperimentationTesting
import Testing

@testable import EngageAdapter

@Suite("An anonymous id that is used again after its recipient was handed on to a known user")
struct HandedOnTests {
    private let bench = EngageWorkbench()

    private func mobileUserIDs() async throws -> [String?] {
        try await bench.recipients().map { $0.values["Mobile User Id"] }
    }

    @Test("doesn't take that recipient from them at the next user's login")
    func twoLogins() async throws {
        let client = try await bench.client(bench.engage())
        let session = client.session(for: User(id: "anonymous"))
        for known in ["ben", "ada"] {
            session.identify(Identity(id: "anonymous"))
            try await session.link(to: Identity(id: known))
        }
        #expect(try await mobileUserIDs() == ["ben", "ada"])
    }

    @Test("has a recipient of its own")
    func own() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("anonymous")
        let first = try await engage.mobileIdentity.setupRecipient().recipientID
        try await client.session(for: User(id: "anonymous")).link(to: Identity(id: "ben"))
        #expect(engage.profile.mobileUserID == "ben" && engage.profile.recipientID == first)
        try await engage.profile.storeMobileUserID("anonymous")
        #expect(engage.profile.recipientID == "")
        #expect(try await engage.mobileIdentity.setupRecipient().recipientID != first)
        #expect(try await mobileUserIDs() == ["ben", "anonymous"])
        try await engage.profile.storeMobileUserID("ben")
        #expect(engage.profile.recipientID == first)
    }
}
