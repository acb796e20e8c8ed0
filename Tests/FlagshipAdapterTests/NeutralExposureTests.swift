import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("Flagship: exposures through the neutral client")
struct NeutralExposureTests {
    /// An exposure as reported to an application.
    private struct Told: Sendable, Hashable {
        var visitor: String
        var flag: String
        var city: FlagValue?
    }

    private static let ada = User(id: "ada", attributes: ["city": "lyon"], consent: .granted)

    private static func client(
        _ bench: Bench,
        _ heard: Heard<Told>,
        mode: FlagshipConfiguration.Mode = .decisionAPI,
        options: ClientOptions = ClientOptions()
    ) async throws -> ExperimentationClient {
        try await bench.client(mode, options: options) {
            $0.onVisitorExposed = { visitor, flag in
                heard.add(Told(visitor: visitor.id, flag: flag.key, city: visitor.context["city"]))
            }
        }
    }

    /// Waits until the application has been notified of what the vendor has accepted.
    private static func untilTold(_ client: ExperimentationClient) async throws {
        await (try #require(client.extras as? FlagshipService)).observations.untilTold()
    }

    @Test(
        "the vendor is notified of each variation once, and the application of each flag once, in both modes",
        arguments: [FlagshipConfiguration.Mode.decisionAPI, .bucketing]
    )
    func eachFlag(mode: FlagshipConfiguration.Mode) async throws {
        let bench = try await Bench()
        let heard = Heard<Told>()
        let client = try await Self.client(bench, heard, mode: mode)
        let session = client.session(for: Self.ada)
        try await session.refresh()
        for _ in 0..<3 {
            #expect(session.int("size", default: 0) == 7)
            #expect(session.bool("on", default: false) == true)
            #expect(session.details("ratio", default: 0.0).value == 0.5)
        }
        #expect(heard.values.isEmpty, "nothing is told before the vendor has it")
        try await client.flush()
        try await Self.untilTold(client)
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-plain"])
        let flags = ["size", "on", "ratio"].map { Told(visitor: "ada", flag: $0, city: "lyon") }
        #expect(heard.values == flags)
        for _ in 0..<2 { _ = session.object("theme", default: .null) }
        #expect(await bench.eventually { heard.values.count == 4 })
        try await client.flush()
        try await Self.untilTold(client)
        #expect(heard.values.last == Told(visitor: "ada", flag: "theme", city: "lyon"))
        #expect(await bench.mock.receivedActivations.count == 1)
    }

    @Test("without a session, both are notified once as well")
    func withoutSession() async throws {
        let bench = try await Bench()
        let heard = Heard<Told>()
        let client = try await Self.client(bench, heard)
        let ada = try await client.decisions(for: Self.ada)
        for _ in 0..<2 {
            _ = ada.int("size", default: 0)
            _ = ada.bool("on", default: false)
        }
        try await client.flush()
        try await Self.untilTold(client)
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-plain"])
        #expect(heard.values.map(\.flag) == ["size", "on"])
    }

    @Test("a missing flag, or one of another type, counts as not seen")
    func unseen() async throws {
        let bench = try await Bench()
        let heard = Heard<Told>()
        let client = try await Self.client(bench, heard)
        let session = client.session(for: Self.ada)
        try await session.refresh()
        _ = session.int("size", default: 0)
        _ = session.string("on", default: "none")
        _ = session.string("nobody", default: "none")
        try await client.flush()
        try await Self.untilTold(client)
        #expect(heard.values.map(\.flag) == ["size"])
    }

    @Test("the visitor is reported as of the time of the exposure")
    func contextAtExposure() async throws {
        let bench = try await Bench()
        let heard = Heard<Told>()
        let client = try await Self.client(bench, heard)
        let session = client.session(for: Self.ada)
        try await session.refresh()
        _ = session.int("size", default: 0)
        try session.update(["city": "paris"])
        try await session.refresh()
        _ = session.bool("on", default: false)
        try await client.flush()
        try await Self.untilTold(client)
        #expect(heard.values.map(\.city) == ["lyon", "paris"])
    }

    @Test("nothing waits for a busy main actor: the application is notified when it is free, in order")
    @MainActor
    func busyMainActor() async throws {
        let heard = Heard<String>()
        let observations = FlagshipObservations { visitor, flag in heard.add(flag.key) }
        let keys = ["one", "two", "three"]
        // The test holds the main actor until it waits.
        for key in keys { Self.deliver(key, of: "ada", to: observations) }
        #expect(heard.values.isEmpty)
        await observations.untilTold()
        #expect(heard.values == keys)
    }

    @Test("the application learns what a visitor saw as it was seen, however many others are refreshed until then")
    func manyRefreshes() async {
        let heard = Heard<Told>()
        let observations = FlagshipObservations { visitor, flag in
            heard.add(Told(visitor: visitor.id, flag: flag.key, city: visitor.context["city"]))
        }
        for (key, isRecorded) in [("size", true), ("on", false)] {
            observations.see(FlagSight(user: Self.ada, exposure: Self.exposure(key), isRecorded: isRecorded))
        }
        for number in 0..<10_000 {
            observations.note(EvaluationContext(user: User(id: "\(number)"), date: ManualTime().now))
        }
        Self.deliver("size", of: "ada", to: observations)
        await observations.untilTold()
        #expect(heard.values == ["size", "on"].map { Told(visitor: "ada", flag: $0, city: "lyon") })
    }

    private static func exposure(_ key: String) -> Exposure {
        let (campaign, variation) = (Experiment(id: "camp-plain"), Variation(id: "var-plain"))
        let assignment = Assignment(experiment: campaign, group: "grp-plain", variation: variation)
        return Exposure(assignment: assignment, flagKey: key)
    }

    /// Makes the vendor accept the exposure of a flag.
    private static func deliver(_ key: String, of visitor: String, to observations: FlagshipObservations) {
        let exposure = exposure(key)
        let event = TrackingEvent(.exposure(exposure))
        let envelope = Envelope(id: key, identity: Identity(id: visitor), event: event, date: ManualTime().now)
        observations.exposed(envelope, exposure)
    }

    @Test("a user who denies consent is not reported, and nothing is remembered of them")
    func denied() async throws {
        let bench = try await Bench()
        let heard = Heard<Told>()
        let client = try await Self.client(bench, heard)
        let session = client.session(for: Self.ada)
        try await session.refresh()
        _ = session.int("size", default: 0)
        _ = session.bool("on", default: false)
        try await session.setConsent(.denied)
        try await client.flush()
        try await Self.untilTold(client)
        #expect(await bench.mock.receivedActivations.isEmpty && heard.values.isEmpty)
        // Neither the context nor the other seen flag is there, in case an exposure was on its way.
        Self.deliver("size", of: "ada", to: try #require(client.extras as? FlagshipService).observations)
        try await Self.untilTold(client)
        #expect(heard.values == [Told(visitor: "ada", flag: "size")])
    }

    @Test("users whose ids are equivalent in Unicode are told apart")
    func equivalentIDs() async {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let heard = Heard<FlagValue?>()
        let observations = FlagshipObservations { visitor, _ in heard.add(visitor.context["city"]) }
        let user = User(id: composed, attributes: ["city": "lyon"], consent: .granted)
        observations.note(EvaluationContext(user: user, date: ManualTime().now))
        observations.forget(decomposed)
        for id in [decomposed, composed] { Self.deliver("cta", of: id, to: observations) }
        await observations.untilTold()
        #expect(heard.values == [nil, "lyon"])
        var identity = Identity(id: "anon")
        let changes = [composed, decomposed, decomposed].map { id in
            let before = identity
            identity.authenticate(id)
            return identity != before
        }
        #expect(changes == [true, true, false])
    }
}
