import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing

@testable import FlagshipAdapter

@Suite("A user's order across Flagship's two endpoints")
struct OrderTests {
    private static let date = ManualTime().now

    /// Creates events: `A.e` is an exposure of user A, `A.h` a hit, `A.x` an event for which Flagship has no hit.
    private static func batch(_ text: String) -> [Envelope] {
        text.split(separator: " ").enumerated().map { place, token in
            let user = String(token.prefix(1))
            let event: TrackingEvent =
                switch token.suffix(1) {
                case "e": TrackingEvent(.exposure(exposure("v\(place)")))
                case "h": .screenView("\(user)\(place)")
                default: .installed
                }
            return Envelope(id: "\(user)\(place)", identity: Identity(id: user), event: event, date: date)
        }
    }

    private static func exposure(_ variation: String) -> Exposure {
        Exposure(
            assignment: Assignment(experiment: Experiment(id: "c"), group: "g", variation: Variation(id: variation))
        )
    }

    /// Formats requests: the operation, and user and position of each event.
    private static func text(_ exchanges: [VendorTransport.Exchange]) -> [String] {
        exchanges.map { exchange in
            let entries = (exchange.json["batch"] ?? exchange.json["h"])?.arrayValue ?? []
            let events = entries.compactMap(\.objectValue).map { entry in
                let user = entry["vid"]?.stringValue ?? "?"
                return entry["vaid"]?.stringValue.map { user + $0.dropFirst() } ?? entry["dl"]?.stringValue ?? "?"
            }
            return ([exchange.operation] + events).joined(separator: " ")
        }
    }

    @Test(
        "a batch's requests: exposures first, as in the original, unless that breaks a user's order",
        arguments: [
            ("A.e", ["exposures A0"]),
            ("A.e A.h A.h", ["exposures A0", "hits A1 A2"]),
            ("A.e A.h B.e B.h C.e C.h C.h", ["exposures A0 B2 C4", "hits A1 B3 C5 C6"]),
            ("A.h B.e", ["exposures B1", "hits A0"]),
            ("A.h A.e", ["hits A0", "exposures A1"]),
            ("A.e A.h A.e A.h", ["exposures A0", "hits A1", "exposures A2", "hits A3"]),
            ("A.e B.h A.h B.e", ["exposures A0", "hits B1 A2", "exposures B3"]),
        ]
    )
    func plan(batch: String, requests: [String]) {
        let plan = FlagshipEventSink.plan(Self.batch(batch))
        #expect(plan.requests.map { (["\($0.lane)"] + $0.events.map(\.id)).joined(separator: " ") } == requests)
    }

    @Test("a hundred exposures fit into one request, and hits have no limit except that of their delivery")
    func bounds() {
        let text = (0..<150).map { _ in "A.e" } + (0..<150).map { _ in "A.h" }
        let plan = FlagshipEventSink.plan(Self.batch(text.joined(separator: " ")))
        #expect(plan.requests.map(\.events.count) == [100, 50, 150])
    }

    @Test("exposure, hit, exposure, hit of two users arrive in each one's order")
    func interleaved() async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        let batch = Self.batch("A.e B.h A.h B.e A.e B.h A.h B.e")
        let report = await sink.deliver(batch)
        #expect(report.verdicts == .each(batch.map { _ in .delivered }))
        #expect(
            Self.text(bench.transport.exchanges)
                == ["activate A0", "hits B1 A2", "activate B3 A4", "hits B5 A6", "activate B7"]
        )
    }

    private static func away(_ status: Int) -> Verdict { .outage(because: .answered(status)) }
    private static let held = Verdict.split("an earlier event of the user wasn't taken")

    static let failures: [(String, VendorTransport.Failure, batch: String, requests: [String], verdicts: [Verdict])] = [
        (
            "activate", .status(503), "A.e A.h B.h", ["activate A0", "hits B2"],
            [away(503), away(503), .delivered]
        ),
        (
            "activate", .error(.timeout), "A.e A.h B.h B.e", ["activate A0", "hits B2"],
            [.outage(because: .timeout), .outage(because: .timeout), .delivered, .outage(because: .timeout)]
        ),
        (
            "hits", .status(500), "A.h A.e B.e B.h", ["activate B2", "hits A0 B3"],
            [away(500), away(500), .delivered, away(500)]
        ),
        (
            "activate", .status(400), "A.e A.h B.h A.e", ["activate A0", "hits B2"],
            [.failed("Flagship refused the event (400)"), held, .delivered, held]
        ),
        (
            "activate", .status(400), "A.e B.e A.h C.h", ["activate A0 B1", "hits C3"],
            [
                .split("Flagship refused the batch (400)"), .split("Flagship refused the batch (400)"), held,
                .delivered,
            ]
        ),
    ]

    @Test("a failure holds back its user's later events, unsent, and others' are sent", arguments: failures.indices)
    func failure(index: Int) async throws {
        let (operation, failure, text, requests, verdicts) = Self.failures[index]
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        bench.transport.fail(operation, failure)
        let report = await sink.deliver(Self.batch(text))
        #expect(Self.text(bench.transport.exchanges) == requests)
        #expect(report.verdicts == .each(verdicts))
    }

    @Test("a hit that can no longer be translated is dropped, alone, and holds nothing back")
    func untranslatable() async throws {
        let bench = try await Bench()
        let sink = try #require(try await bench.roles().events)
        let report = await sink.deliver(Self.batch("A.e A.x A.e A.h"))
        #expect(Self.text(bench.transport.exchanges) == ["activate A0", "activate A2", "hits A3"])
        let rejected = Verdict.rejected(
            "Flagship has no hit for installed; a custom event can say it in words of your own"
        )
        #expect(report.verdicts == .each([.delivered, rejected, .delivered, .delivered]))
    }

    @Test("the application is notified of exposures in order, each once, even if a request between them fails")
    func callbacks() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let client = try await bench.client(options: ClientOptions(exposurePolicy: .everyRead)) {
            $0.onVisitorExposed = { heard.add("\($0.id) \($1.key)") }
        }
        let session = client.session(for: User(id: "ada", consent: .granted))
        try await session.refresh()
        bench.transport.fail("hits", .status(503))
        _ = session.string("cta", default: "none")
        try await session.track(.screenView("one"))
        _ = session.string("color", default: "none")
        try await session.track(.screenView("two"))
        let observations = try #require(client.extras as? FlagshipService).observations
        try await client.flush(retrying: false)
        await observations.untilTold()
        #expect(heard.values == ["ada cta"])
        bench.time.advance(by: .seconds(60))
        #expect(try await client.flush(retrying: false).isDone)
        await observations.untilTold()
        #expect(heard.values == ["ada cta", "ada color"])
        let requests = bench.transport.exchanges.filter { $0.operation != "campaigns" }
        #expect(requests.map(\.operation) == ["activate", "hits", "hits", "activate", "hits"])
        #expect(await bench.hits.map { $0["dl"] } == ["one", "two"])
        #expect(try await client.ledger() == Ledger(accepted: 4, delivered: 4))
    }

    @Test(
        "P07 whatever fails at either endpoint, each user's exposures and hits arrive in order, each once",
        arguments: 0..<(ProcessInfo.processInfo.environment["SOAK"] == "1" ? 200 : 12)
    )
    func whatever(seed: UInt64) async throws {
        var dice = Dice(state: seed)
        let bench = try await Bench()
        let client = try await bench.client(options: ClientOptions(exposurePolicy: .everyRead))
        var expected: [String: [String]] = [:]
        var refusals = 0
        var sessions: [UserSession] = []
        for id in ["ada", "ben", "cleo"] {
            let session = client.session(for: User(id: id, consent: .granted))
            try await session.refresh()
            sessions.append(session)
        }
        for number in 0..<40 {
            let session = sessions[Int.random(in: 0..<3, using: &dice)]
            if Bool.random(using: &dice) {
                _ = session.string("cta", default: "none")
                expected[session.user.id, default: []].append("exposure")
            } else {
                try await session.track(.screenView("\(number)"))
                expected[session.user.id, default: []].append("\(number)")
            }
            guard Int.random(in: 0..<6, using: &dice) == 0 else { continue }
            let operation = Bool.random(using: &dice) ? "activate" : "hits"
            switch Int.random(in: 0..<4, using: &dice) {
            case 0: bench.transport.fail(operation, .status(503))
            case 1: bench.transport.fail(operation, .error(.timeout))
            // A third rejection could be an event's last.
            case 2 where refusals < 2:
                refusals += 1
                bench.transport.fail(operation, .status(400))
            default: break
            }
            try await client.flush(retrying: false)
            bench.time.advance(by: .seconds(10))
        }
        for _ in 0..<100 where try await !client.flush(retrying: false).isDone { bench.time.advance(by: .seconds(60)) }
        var received: [String: [String]] = [:]
        for one in await bench.mock.receivedInOrder {
            let hit = try one.json.flatMap { try JSON.parse(Array($0.utf8)).objectValue }
            let user = one.activation?.visitor ?? hit?["vid"]?.stringValue ?? "?"
            received[user, default: []].append(hit?["dl"]?.stringValue ?? "exposure")
        }
        #expect(received == expected)
        #expect(try await client.ledger() == Ledger(accepted: 40, delivered: 40))
    }

    /// Generates the same numbers for the same seed.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state ^ (state >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        }
    }

    @Test("over a socket both users' exposures and hits arrive in the order in which they happened")
    func journal() async throws {
        let stage = try await FlagshipSubject().open(.shop)
        let client = try await ExperimentationClient(
            provider: try await stage.makeProvider(),
            options: ClientOptions(
                exposurePolicy: .everyRead,
                batching: BatchPolicy(count: 100, interval: .seconds(3_600))
            )
        )
        let (ada, ben) = (client.session(for: .ada), client.session(for: .ben))
        try await ada.refresh()
        try await ben.refresh()
        for number in 1...2 {
            _ = ada.string("checkout-color", default: "none")
            try await ben.track(.screenView("\(number)"))
            try await ada.track(.screenView("\(number)"))
            _ = ben.string("checkout-color", default: "none")
        }
        #expect(try await client.flush().isDone)
        let received = try await stage.received()
        func story(of user: User) -> [String] { received.filter { $0.userID == user.id }.map { $0.name ?? $0.type } }
        #expect(story(of: .ada) == ["exposure", "1", "exposure", "2"])
        #expect(story(of: .ben) == ["1", "exposure", "2", "exposure"])
        let purposes = try await stage.exchanges().map(\.purpose).filter { $0 != .decisions }
        #expect(purposes == [.exposures, .events, .exposures, .events, .exposures])
        await client.shutdown()
        await stage.close()
    }
}
