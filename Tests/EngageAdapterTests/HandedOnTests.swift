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

    @Test("doesn't take the recipient from the known user at the next user's login")
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

    @Test("leaves the recipient to its known user, who may come back after another user")
    func knownUserReturns() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        try await engage.profile.storeMobileUserID("anonymous")
        let recipient = try await engage.mobileIdentity.setupRecipient().recipientID
        try await client.session(for: User(id: "anonymous")).link(to: Identity(id: "ben"))
        try await engage.profile.storeMobileUserID("ada")
        #expect(engage.profile.record.recipient(of: "ben") == recipient)
        try await engage.profile.storeMobileUserID("ben")
        #expect(engage.profile.recipientID == recipient)
    }

    @Test("names the recipient in events from before the handover, and in no later ones")
    func events() async throws {
        let engage = bench.engage()
        let client = try await bench.client(engage)
        let session = client.session(for: User(id: "anonymous"))
        await client.setConnectivity(.offline)
        try await session.track(.custom("before"))
        bench.time.advance(by: .seconds(1))
        try await session.link(to: Identity(id: "ben"))
        let recipient = engage.profile.record.recipient(of: "ben")
        for known in ["ada", nil] {
            bench.time.advance(by: .seconds(1))
            session.identify(Identity(id: "anonymous"))
            try await session.track(.custom("after"))
            if let known { try await session.link(to: Identity(id: known)) }
        }
        await client.setConnectivity(.online)
        try await client.flush()
        let other = engage.profile.record.recipient(of: "ada")
        #expect(recipient != "" && other != "" && other != recipient)
        #expect(try await bench.behaviors().map { $0["Recipient Id"] } == [recipient, other, ""])
    }

    @Test("no longer names the recipient once its known user denies consent")
    func denial() async throws {
        let client = try await bench.client(bench.engage())
        let session = client.session(for: User(id: "anonymous"))
        await client.setConnectivity(.offline)
        try await session.track(.custom("before"))
        try await session.link(to: Identity(id: "ben"))
        try await session.setConsent(.denied)
        await client.setConnectivity(.online)
        try await client.flush()
        #expect(try await bench.behaviors().map { $0["Recipient Id"] } == [""])
    }

    @Test("keeps its recipient if the known user gets one during the login", arguments: 1...3)
    func setUpMeanwhile(after steps: Int) async throws {
        let engage = bench.engage()
        var link = LinkProgress(from: Identity(id: "anonymous"), to: Identity(id: "ben"))
        for _ in 0..<steps { link = try await engage.linker.advance(link) }
        try await engage.profile.storeMobileUserID("ben")
        try await engage.mobileIdentity.setupRecipient()
        while !link.isComplete { link = try await engage.linker.advance(link) }
        #expect(Set(try await mobileUserIDs()) == ["anonymous", "ben"])
        #expect(try await bench.recipients().count == 2)
    }

    @Test(
        "hands its recipient to only one of two users who log in at once",
        arguments: [(["anonymous", "anonymous"], ["ben", "ada"]), (["here", "there"], ["ben", "ben"])]
    )
    func atOnce(former: [String], known: [String]) async throws {
        // The first is interrupted after some steps, and the second, too, has taken some before.
        for (first, second) in (0..<5).flatMap({ first in (0..<5).map { (first, $0) } }) {
            let bench = EngageWorkbench()
            let linker = bench.engage().linker
            var links = zip(former, known).map { LinkProgress(from: Identity(id: $0), to: Identity(id: $1)) }
            for (place, steps) in [(1, second), (0, first), (1, 20), (0, 20)] {
                for _ in 0..<steps where !links[place].isComplete {
                    links[place] = try await linker.advance(links[place])
                }
            }
            #expect(links.map(\.isComplete) == [true, true] && links.map(\.to.id) == known)
            let ids = try await bench.recipients().compactMap { $0.values["Mobile User Id"] }
            #expect(ids.filter(known.contains).count == Set(known).count, "after \(first) and \(second) steps: \(ids)")
        }
    }
}
