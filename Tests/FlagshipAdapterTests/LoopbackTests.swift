import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import FlagshipAdapter
import Foundation
import MockVendors
import Testing

@Suite("Flagship over a socket")
struct LoopbackTests {
    static let subjects = [FlagshipSubject(mode: .decisionAPI), FlagshipSubject(mode: .bucketing)]

    @Test(
        "the default scenario's shop is decided, exposed, bought in and tracked through the neutral API",
        arguments: subjects.indices
    )
    func story(index: Int) async throws {
        let subject = Self.subjects[index]
        let stage = try await subject.open(.shop)
        let client = try await ExperimentationClient(provider: try await stage.makeProvider())
        let session = client.session(for: .ada)
        try await session.refresh()
        let details = session.details("checkout-color", default: "none")
        #expect(details.value == "green")
        #expect(details.variant == "green")
        #expect(details.reason == .split)
        #expect(session.string("welcome", default: "none") == "Hello!")
        #expect(session.bool("free-shipping", default: false))
        #expect(session.int("items-per-page", default: 0) == 24)
        #expect(session.double("discount", default: 0) == 0.15)
        #expect(session.object("theme", default: nil) == ["accent": "#06c", "dark": false])
        try await session.track(.purchase(Order(id: "o-1", lines: [LineItem(item: .teapot)], currency: "EUR")))
        #expect(try await client.flush().isDone)
        let received = try await stage.received()
        #expect(received.contains { $0.type == "exposure" && $0.experiment == "checkout" && $0.variation == "green" })
        let purchase = try #require(received.first { $0.type == "purchase" })
        #expect(purchase.userID == "ada" && purchase.orderID == "o-1" && purchase.items == ["teapot-7"])
        #expect(purchase.value == 39.9)
        await client.shutdown()
        await stage.close()
    }

    @Test("F15 over a socket an answer after the timeout counts as none, and the flags stay")
    func slowAnswer() async throws {
        let mock = FlagshipMock(environmentID: Bench.environmentID, apiKey: Bench.apiKey)
        try await mock.load(Data(Bench.file.utf8))
        let server = MockServer(mock)
        try await server.start()
        server.setScript([ScriptedFault(.delay(milliseconds: 60_000), on: "campaigns", after: 1, times: nil)])
        let endpoint = try Endpoint(server.url)
        let flagship = await Flagship.start(
            environmentID: Bench.environmentID,
            apiKey: Secret(Bench.apiKey),
            options: FlagshipOptions(
                timeout: .milliseconds(500),
                endpoints: .init(decision: try Endpoint("\(server.url)/v2/"), cdn: endpoint, events: endpoint)
            ),
            store: .inMemory()
        )
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        #expect(visitor.fetchStatus == .fetched)
        let start = ContinuousClock.now
        await visitor.fetchFlags()
        #expect(ContinuousClock.now - start < .seconds(30), "the answer would take a minute")
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .fetchError)
        #expect(visitor.flag("cta").value(default: "none") == "new")
        await flagship.close(within: .zero)
        await server.stop()
    }

    @Test(
        "both modes decide alike for all users in worlds without random splits",
        arguments: [
            World.shop, .oneFlag, .everyType, .targeted, .forced,
        ]
    )
    func modesAgree(world: World) async throws {
        var answers: [[String: FlagValue]] = []
        for subject in Self.subjects {
            let stage = try await subject.open(world)
            let client = try await ExperimentationClient(provider: try await stage.makeProvider())
            var values: [String: FlagValue] = [:]
            for user in world.users {
                let decisions = try await client.decisions(for: user)
                for key in decisions.keys { values["\(user.id)/\(key)"] = decisions[key]?.value }
            }
            answers.append(values)
            await client.shutdown()
            await stage.close()
        }
        #expect(answers[0] == answers[1])
        #expect(!answers[0].isEmpty)
    }
}
