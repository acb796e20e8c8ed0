import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import Testing

@testable import GatewayServer

@Suite("Events over the wire")
struct EventTests {
    private static func event(_ id: String, user: String = "ada", name: String = "seen") -> String {
        #"{"id":"\#(id)","user":{"id":"\#(user)","consent":true},"event":{"type":"goalCompleted","name":"\#(name)"},"at":"2026-11-21T10:00:00.000Z"}"#
    }

    private static func results(_ answer: WireAnswer) throws -> [String] {
        let list = try JSON.parse(answer.body).objectValue?["events"]?.arrayValue ?? []
        return list.map { result in
            let members = result.objectValue ?? [:]
            return [members["id"], members["status"], members["errorCode"]].compactMap { $0?.stringValue }
                .joined(separator: " ")
        }
    }

    @Test("an event is accepted once, whether it comes alone, twice at once, or again")
    func once() async throws {
        try await Served.run { served in
            let one = try await served.wire.post("/v1/events", Self.event("a"))
            #expect(one.status == 200)
            #expect(try Self.results(one) == ["a accepted"])
            let many =
                "{\"events\":[\(Self.event("a")),\(Self.event("b")),\(Self.event("b")),\(Self.event("c", user: "bob"))]}"
            let answer = try await served.wire.post("/v1/events", many)
            #expect(try Self.results(answer) == ["a repeated", "b accepted", "b repeated", "c accepted"])
            #expect(answer.body.hasPrefix(#"{"accepted":2,"#))
            let waiting = try await served.client.waitingEvents().map(\.envelope)
            #expect(Set(waiting.map(\.id)) == ["a", "b", "c"])
            #expect(waiting.first?.date.timeIntervalSince1970 == 1_795_255_200)
            #expect(try await served.client.ledger().accepted == 3)
        }
    }

    @Test("an event keeps its id after it was delivered, and requests at the same moment share one acceptance")
    func concurrently() async throws {
        let provider = InMemoryProvider(needsConsent: false)
        try await Served.run(provider) { served in
            let statuses = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<8 {
                    group.addTask { try Self.results(try await served.wire.post("/v1/events", Self.event("x"))) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(statuses.sorted() == ["x accepted"] + Array(repeating: "x repeated", count: 7))
            try await served.client.flush()
            #expect(provider.record.delivered.map(\.id) == ["x"])
            #expect(try Self.results(try await served.wire.post("/v1/events", Self.event("x"))) == ["x repeated"])
        }
    }

    @Test(
        "an invalid event is refused with the reason, and its neighbours are accepted",
        arguments: [
            "7", "{}", #"{"id":"","user":{"id":"u"},"event":{"type":"installed"}}"#,
            #"{"id":"n","user":{"id":"u"},"event":{"type":"nothing"}}"#,
            #"{"id":"n","user":{},"event":{"type":"installed"}}"#, #"{"id":"n","event":{"type":"installed"}}"#,
            #"{"id":"n","user":{"id":"u"},"event":{"type":"installed"},"at":"yesterday"}"#,
            #"{"id":"n","user":{"id":"u"},"event":{"type":"installed"},"at":"2026-11-21T10:00:00Z+05:00"}"#,
            #"{"id":"n","user":{"id":"u"},"event":{"type":"installed"},"at":"2026-02-30T10:00:00Z"}"#,
            #"{"id":"n","user":{"id":"u"},"event":{"type":"installed"},"more":1}"#,
        ]
    )
    func refused(wrong: String) async throws {
        try await Served.run { served in
            let body = "{\"events\":[\(Self.event("a")),\(wrong),\(Self.event("b"))]}"
            let answer = try await served.wire.post("/v1/events", body)
            #expect(answer.status == 200)
            #expect(try Self.results(answer) == ["a accepted", "refused INVALID_ARGUMENT", "b accepted"])
            #expect(answer.body.contains("events[1]"))
        }
    }

    @Test(
        "a body without events is refused as a whole",
        arguments: ["", "[]", "7", #"{"events":7}"#, #"{"events":[],"more":1}"#, "{\"events\":["]
    )
    func noEvents(body: String) async throws {
        let answer = try await Served.run { try await $0.wire.post("/v1/events", body) }
        #expect(answer.status == 400)
        #expect(answer.body.contains("PARSE_ERROR"))
    }

    /// A vendor with an experiment, whose exposures need consent.
    private static func experimenter() -> InMemoryProvider {
        InMemoryProvider(
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "button"),
                    arms: [.init(Variation(id: "blue"), weight: 100, flags: ["button": "blue"])]
                )
            ],
            freshness: Freshness(lifetime: .seconds(3_600)),
            batching: BatchPolicy(count: 1_000, interval: .seconds(3_600))
        )
    }

    @Test(
        "after a denial of consent the user isn't tracked, whatever the default, and waiting events are removed",
        arguments: [Consent.unknown, .granted]
    )
    func consent(unstated: Consent) async throws {
        try await Served.run(Self.experimenter()) {
            $0.tenants[0].consent = unstated
        } body: { served in
            func post(_ id: String, _ user: String = "") async throws -> [String] {
                let event = #"{"id":"\#(id)","user":{"id":"ada"\#(user)},"event":{"type":"installed"}}"#
                return try Self.results(try await served.wire.post("/v1/events", event))
            }
            _ = try await served.wire.post("/v1/events", Self.event("a"))
            let denial = #"{"id":"d","user":{"id":"ada"},"event":{"type":"consentChanged","granted":false}}"#
            #expect(try Self.results(try await served.wire.post("/v1/events", denial)) == ["d accepted"])
            #expect(try await post("e") == ["e refused CONSENT_DENIED"])
            for _ in 0..<2 {
                let path = "/ofrep/v1/evaluate/flags/button"
                let answer = try await served.wire.post(path, #"{"context":{"targetingKey":"ada"}}"#)
                #expect(answer.body.contains("blue"))
            }
            #expect(try await post("e") == ["e refused CONSENT_DENIED"])
            let waiting = try await served.client.waitingEvents().map(\.envelope)
            #expect(waiting.filter { if case .consentChanged = $0.event.kind { false } else { true } } == [])
            #expect(try await post("f", #","consent":true"#) == ["f accepted"])
            #expect(try await post("e") == ["e accepted"])
        }
    }

    @Test("an event written by an earlier version counts as stating consent")
    func earlierForm() throws {
        let user = User(id: "ada", consent: .granted)
        for isStated in [true, false] {
            let event = EventRequest(id: "a", user: user, isConsentStated: isStated, event: .installed, date: nil)
            let data = try JSONEncoder().encode(event)
            #expect(try JSONDecoder().decode(EventRequest.self, from: data).isConsentStated == isStated)
            var members = try #require(try JSON.parse(data).objectValue)
            members["isConsentStated"] = nil
            let old = Data(try JSON.encode(FlagValue.object(members)))
            #expect(try JSONDecoder().decode(EventRequest.self, from: old).isConsentStated)
        }
    }

    @Test("an id that a crash left unrecorded is recorded by the next run")
    func crash() async throws {
        let store = ClientStore.inMemory()
        let client = try await ExperimentationClient(provider: InMemoryProvider(), store: store)
        let time = ManualTime()
        let seen = SeenEvents(state: store.state, time: time, isShared: false)
        let user = User(id: "ada", consent: .granted)
        // As if the process had ended here: the request is recorded, and one of its two events is accepted.
        try await seen.begin([SeenEvents.digest("a"), SeenEvents.digest("b")], request: "r")
        try await client.track(.installed, for: user, id: "a")
        let intake = try await EventIntake(client, seen: seen)
        let events = try EventsRequest(
            body: Array("{\"events\":[\(Self.event("a")),\(Self.event("b"))]}".utf8),
            consent: .granted
        ).events
        #expect(await intake.take(events) == [.repeated, .accepted])
        #expect(try await store.state.keys(beginningWith: "gateway/begun/").isEmpty)
    }

    @Test(
        "an id claimed by an instance that is gone is taken over, and its event is accepted unless it is stored already"
    )
    func takenOver() async throws {
        let store = ClientStore.inMemory()
        let client = try await ExperimentationClient(provider: InMemoryProvider(), store: store)
        let time = ManualTime()
        let gone = SeenEvents(state: store.state, time: time, isShared: true)
        for id in ["there", "lost"] { #expect(try await gone.claim(SeenEvents.digest(id)) == .claimed) }
        let asked = Shared<[String]>([])
        let intake = try await EventIntake(
            client,
            seen: SeenEvents(state: store.state, time: time, isShared: true),
            wasAccepted: { id, userID throws(ExperimentationError) in
                asked.change { $0.append("\(id) of \(userID)") }
                return id == "there"
            }
        )
        func take(_ id: String) async throws -> [EventOutcome] {
            await intake.take(try EventsRequest(body: Array(Self.event(id).utf8), consent: .granted).events)
        }
        // Until its claim expires, the other instance may be alive.
        guard case .refused(let refusal)? = try await take("there").first else {
            Issue.record("it was taken too early")
            return
        }
        #expect(refusal.mayPass)
        time.advance(by: .seconds(21))
        for _ in 0..<2 { #expect(try await take("there") == [.repeated]) }
        #expect(try await take("lost") == [.accepted])
        #expect(try await take("lost") == [.repeated])
        #expect(asked.value == ["there of ada", "lost of ada"])
        #expect(try await client.waitingEvents().map(\.envelope.id) == ["lost"])
        await client.shutdown(within: .zero)
    }

    @Test("an id is remembered for at least a day")
    func days() async throws {
        let store = ClientStore.inMemory()
        let client = try await ExperimentationClient(provider: InMemoryProvider(), store: store)
        let time = ManualTime()
        let intake = try await EventIntake(
            client,
            seen: SeenEvents(state: store.state, time: time, isShared: false)
        )
        let events = try EventsRequest(body: Array(Self.event("a").utf8), consent: .granted).events
        #expect(await intake.take(events) == [.accepted])
        time.advance(by: .seconds(86_400))
        #expect(await intake.take(events) == [.repeated])
        await client.shutdown(within: .zero)
    }
}
