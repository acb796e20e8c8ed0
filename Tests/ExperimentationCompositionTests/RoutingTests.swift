import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing

@Suite("Events to several vendors")
struct RoutingTests {
    private let one = Vendors.taking("one", allBut: ["purchase"])
    private let two = Vendors.taking("two")

    private func play(
        _ provider: ComposedProvider,
        store: ClientStore = .inMemory(),
        _ story: (ExperimentationClient, UserSession) async throws -> Void
    ) async throws -> ExperimentationClient {
        let client = try await ExperimentationClient(provider: provider, store: store)
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await story(client, session)
        try await client.flush(retrying: false)
        return client
    }

    @Test("an event goes where its row says, otherwise where the default row says, with a ledger for each destination")
    func table() async throws {
        let provider = try ComposedProvider(of: [one, two], events: ["screenView": ["one", "two"], "*": ["one"]])
        let client = try await play(provider) { _, session in
            try await session.track(.screenView("cart"))
            try await session.track(.custom("spun"))
            await #expect(throws: ExperimentationError.self) { try await session.track(.purchase(Order(id: "1"))) }
        }
        #expect(one.types == ["screenView", "custom"] && two.types == ["screenView"])
        let ledgers = try await client.ledgers()
        #expect(
            ledgers == [
                one.destination: .init(accepted: 2, delivered: 2), two.destination: .init(accepted: 1, delivered: 1),
            ]
        )
        #expect(one.inner.record.delivered[0].id == two.inner.record.delivered[0].id)
    }

    @Test("an event that one vendor doesn't support goes to the others")
    func words() async throws {
        _ = try await play(ComposedProvider(of: [one, two])) { _, session in
            try await session.track(.purchase(Order(id: "1")))
        }
        #expect(one.types == [] && two.types == ["purchase"])
    }

    @Test("one vendor's rejection, outage or held consent doesn't affect another")
    func apart() async throws {
        let held = Vendors.taking("held", needsConsent: true)
        one.inner.setVerdict { _ in .outage() }
        let provider = try ComposedProvider(of: [one, two, held])
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.custom("spun"))
        try await client.flush(retrying: false)
        #expect([one, two, held].map(\.types) == [[], ["custom"], []])
        try await session.setConsent(.granted)
        try await client.flush(retrying: false)
        #expect(held.types.contains("custom"))
    }

    @Test("a denial is sent to all vendors that accept the signal, and purges events waiting for any vendor")
    func denial() async throws {
        let quiet = Vendors.taking("quiet", allBut: ["consentChanged"], needsConsent: true)
        let provider = try ComposedProvider(of: [two, quiet], events: .to("quiet"))
        let client = try await ExperimentationClient(provider: provider)
        let session = client.session(for: User(id: "ada"))
        try await session.track(.custom("spun"))
        try await session.setConsent(.denied)
        try await client.flush(retrying: false)
        #expect(quiet.types == [] && two.types == ["consentChanged"])
        #expect(try await client.ledgers()[quiet.destination] == Ledger(accepted: 1, purged: 1))
    }

    @Test("a vendor's kill switch stops only its own deliveries, also in the next run")
    func killSwitch() async throws {
        let store = ClientStore.inMemory()
        let decider = Vendors.deciding("d", ["f": 1])
        one.inner.setDisabled(true)
        let provider = try ComposedProvider(of: [decider, one, two])
        let first = try await play(provider, store: store) { client, session in
            try await session.track(.custom("a"))
            try await client.flush(retrying: false)
            try await session.track(.custom("b"))
        }
        // The batch that revealed the switch keeps its verdict; later events wait.
        #expect(one.inner.record.batches.count == 1 && two.types == ["custom", "custom"])
        await first.shutdown()
        let second = try await play(provider, store: store) { _, session in
            try await session.track(.custom("c"))
            try await session.refresh()
            #expect(session.int("f", default: 0) == 1)
        }
        #expect(one.inner.record.batches.count == 1 && two.types.count == 3)
        #expect(second.status == .ready)
    }

    @Test("an exposure that the deciding vendor doesn't accept becomes an event at another one, once")
    func exposures() async throws {
        let decider = Vendors.deciding("d", experiments: [Vendors.experiment("price", flag: "f")])
        let shy = Vendors.taking("shy", allBut: ["exposure"])
        let provider = try ComposedProvider(
            of: [decider, shy],
            exposures: ExposureEvent(fields: [
                .experiment: "test", .variation: "arm", .provider: "by",
            ])
        )
        _ = try await play(provider) { _, session in
            try await session.refresh()
            for _ in 0..<3 { _ = session.bool("f", default: false) }
        }
        #expect(
            shy.inner.delivered == [
                .custom("experiment_viewed", attributes: ["test": "price", "arm": "price-b", "by": "d"])
            ]
        )
    }

    @Test("a vendor whose events have no fields gets the variation in the event's name")
    func exposureByName() async throws {
        let decider = Vendors.deciding("d", experiments: [Vendors.experiment("price", flag: "f")])
        let shy = Vendors.taking("shy", allBut: ["exposure"])
        let form = ExposureEvent(name: "viewed {experiment} {variation} {isControl}", fields: [:])
        _ = try await play(ComposedProvider(of: [decider, shy], exposures: form)) { _, session in
            try await session.refresh()
            _ = session.bool("f", default: false)
        }
        #expect(shy.inner.delivered == [.custom("viewed price price-b false")])
    }

    @Test("a vendor gets exposures of its own experiments as such; a destination for everything gets all")
    func ownExposures() async throws {
        let counting = Playing(
            InMemoryProvider(name: "c", experiments: [Vendors.experiment("own", flag: "f")], needsConsent: false)
        ) { _ in }
        let silent = Vendors.deciding("d", experiments: [Vendors.experiment("foreign", flag: "g")])
        let everything = Vendors.taking("everything")
        let shy = Vendors.taking("shy", allBut: ["exposure"])
        let provider = try ComposedProvider(of: [counting, silent, everything, shy], events: .to("everything", "shy"))
        _ = try await play(provider) { _, session in
            try await session.refresh()
            _ = session.bool("f", default: false)
            _ = session.bool("g", default: false)
        }
        #expect(counting.inner.exposures.map(\.assignment.experiment.id) == ["own"])
        #expect(counting.inner.exposures.first?.assignment.metadata == [:])
        #expect(everything.inner.exposures.map(\.assignment.experiment.id) == ["own", "foreign"])
        #expect(shy.types == ["custom"])
    }

    @Test("experiments of two vendors with the same ids are exposed one by one")
    func sameIDs() async throws {
        let provider = try ComposedProvider(of: [
            Vendors.deciding("a", experiments: [Vendors.experiment("price", flag: "f")]),
            Vendors.deciding("b", experiments: [Vendors.experiment("price", flag: "g")]),
            two,
        ])
        _ = try await play(provider) { _, session in
            try await session.refresh()
            for flag in ["f", "g", "f", "g"] { _ = session.bool(flag, default: false) }
        }
        #expect(two.inner.exposures.map(\.assignment.metadata["provider"]) == ["a", "b"])
    }

    @Test("a user is linked at every vendor that links, each from its own progress; a failure delays no other")
    func linking() async throws {
        one.inner.setFailure(ExperimentationError(.transport, "away"))
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [one, two]))
        let session = client.session(for: User(id: "guest"))
        await #expect(throws: ExperimentationError(.transport, "one: away")) {
            try await session.link(to: Identity(id: "ada"))
        }
        #expect(two.inner.record.links.count == 1)
        one.inner.setFailure(nil)
        #expect(try await session.link(to: Identity(id: "ada")).id == "ada")
        #expect([one, two].map { $0.inner.record.links.map(\.to.id) } == [["ada"], ["ada"]])
    }

    @Test("forgetting a user and stopping reach every vendor")
    func forgetting() async throws {
        let forgetful = one.changing { roles in
            roles.forget = { _ async throws(ExperimentationError) in throw ExperimentationError(.store, "full") }
        }
        let record = RecordingLog()
        let noting = two.changing { roles in
            roles.forget = { user async throws(ExperimentationError) in record.log(.info, "forget", user) }
        }
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [forgetful, noting]))
        let session = client.session(for: User(id: "ada"))
        await #expect(throws: ExperimentationError(.store, "one: full")) { try await session.setConsent(.denied) }
        #expect(record.entries.map(\.message).contains("ada"))
        await client.shutdown()
        #expect([one, two].map(\.inner.record.isStopped) == [true, true])
    }

    @Test("extras of a single vendor are found by type")
    func extras() async throws {
        let special = one.changing { $0.extras = "words" }
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [two, special]))
        #expect(client.extras(as: String.self) == "words" && client.extras(as: Int.self) == nil)
    }
}
