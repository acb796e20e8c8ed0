import AdapterKit
import Experimentation
import Foundation
import Synchronization
import Testing

@Suite("A batch split over several endpoints")
struct DeliveryPlanTests {
    /// The lanes of a vendor with two endpoints, one of which takes at most three events.
    enum Way: String, DeliveryLane {
        case e, h
        var most: Int { self == .e ? 3 : .max }
    }

    /// The same lanes without a limit.
    enum FreeWay: String, DeliveryLane {
        case e, h
        var most: Int { .max }
    }

    enum OneWay: String, DeliveryLane {
        case h
        // An invalid limit counts as one.
        var most: Int { 0 }
    }

    enum ThreeWays: String, DeliveryLane {
        case e, h, x
        var most: Int { .max }
    }

    // MARK: The arrangement

    @Test(
        "requests keep each user's order; otherwise the vendor's preferred lane goes first",
        arguments: [
            ("", ""),
            ("Ae Ah", "e A0 | h A1"),
            ("Ae Ah Be Bh Bh", "e A0 B2 | h A1 B3 B4"),
            ("Ah Be", "e B1 | h A0"),
            ("Ah Ae", "h A0 | e A1"),
            ("Ae Ah Ae Ah", "e A0 | h A1 | e A2 | h A3"),
            ("Ae Bh Ah Be Ae Bh Ah Be", "e A0 | h B1 A2 | e B3 A4 | h B5 A6 | e B7"),
            // One request fewer than if exposures came first.
            ("Ah Ae Be", "h A0 | e A1 B2"),
            ("Ah Ae Be Bh", "e B2 | h A0 B3 | e A1"),
            // At most three per request.
            ("Ae Ae Ae Ae Ah Be", "e A0 A1 A2 | e A3 B5 | h A4"),
        ]
    )
    func arrangement(batch: String, requests: String) {
        #expect(Self.text(DeliveryPlan<Way>(Self.batch(batch), by: Self.way(of:)).requests) == requests)
    }

    @Test("a single lane keeps the order of all events, and three lanes alternate")
    func otherWays() {
        let one = DeliveryPlan<OneWay>(Self.batch("Ah Bh Ah"), by: Self.way(of:))
        #expect(Self.text(one.requests) == "h A0 | h B1 | h A2")
        let three = DeliveryPlan<ThreeWays>(Self.batch("Ax Ae Be Bx Ah"), by: Self.way(of:))
        #expect(Self.text(three.requests) == "e B2 | x A0 B3 | e A1 | h A4")
    }

    @Test("every batch of two users and five events is sent completely, in order, and in the fewest possible requests")
    func everyBatch() {
        let tokens = ["Ae", "Ah", "Be", "Bh"]
        for number in 0..<1_024 {
            let batch = Self.batch((0..<5).map { tokens[number >> (2 * $0) & 3] }.joined(separator: " "))
            let plan = DeliveryPlan<FreeWay>(batch, by: Self.way(of:))
            var sent: [String: [String]] = [:]
            for request in plan.requests {
                if request.events.contains(where: { Self.way(of: $0) != request.lane }) {
                    Issue.record("an event goes the wrong way: \(Self.text(plan.requests))")
                }
                for event in request.events { sent[event.identity.id, default: []].append(event.id) }
            }
            let users = Dictionary(grouping: batch, by: \.identity.id)
            if sent != users.mapValues({ $0.map(\.id) }) {
                Issue.record("not what was to be sent: \(Self.text(plan.requests))")
            }
            let ways = users.values.map { $0.map { Self.way(of: $0) as FreeWay } }
            if plan.requests.count != Self.fewest(for: ways) {
                Issue.record("not the fewest: \(Self.text(plan.requests))")
            }
        }
    }

    /// Returns the minimum number of requests, found by exhaustive search.
    private static func fewest(for users: [[FreeWay]]) -> Int {
        for count in 1... {
            for number in 0..<(1 << count) {
                let row = (0..<count).map { number >> $0 & 1 == 0 ? FreeWay.e : .h }
                let isEnough = users.allSatisfy { events in
                    var rest = row[...]
                    for way in events { rest = rest.drop { $0 != way } }
                    return !rest.isEmpty
                }
                if isEnough { return count }
            }
        }
        return 0
    }

    // MARK: The delivery

    struct Story: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let batch: String
        /// The vendor's verdicts on some events; all others are delivered.
        let said: [String: Verdict?]
        let sent: String
        /// The expected verdicts, in the order of the batch.
        let verdicts: [Verdict?]
    }

    private static let held = Verdict.split("an earlier event of the user wasn't taken")

    static let stories = [
        Story(
            testDescription: "all is well",
            batch: "Ae Ah Bh Be",
            said: [:],
            sent: "e A0 | h A1 B2 | e B3",
            verdicts: [.delivered, .delivered, .delivered, .delivered]
        ),
        Story(
            testDescription: "an outage keeps its user's later events back, and no other request goes there",
            batch: "Ae Ah Bh Be Ae Ch",
            said: ["A0": .outage(after: .seconds(7))],
            sent: "e A0 | h B2 C5",
            verdicts: [
                .outage(after: .seconds(7)), .outage(after: .seconds(7)), .delivered,
                .outage(after: .seconds(7)), .outage(after: .seconds(7)), .delivered,
            ]
        ),
        Story(
            testDescription: "no verdict is an outage",
            batch: "Ae Ah Bh",
            said: ["A0": nil],
            sent: "e A0 | h B2",
            verdicts: [nil, .outage(), .delivered]
        ),
        Story(
            testDescription: "a stop keeps its user's later events back, and others' that go the same way",
            batch: "Ae Ah Bh Be",
            said: ["A0": .stop(ExperimentationError(.unauthorized, "401"))],
            sent: "e A0 | h B2",
            verdicts: [
                .stop(ExperimentationError(.unauthorized, "401")), .stop(ExperimentationError(.unauthorized, "401")),
                .delivered, .stop(ExperimentationError(.unauthorized, "401")),
            ]
        ),
        Story(
            testDescription: "a failure keeps its user's later events back at no cost to them, and no other user's",
            batch: "Ae Ah Bh Be Ae",
            said: ["A0": .failed("400")],
            sent: "e A0 | h B2 | e B3",
            verdicts: [.failed("400"), held, .delivered, .delivered, held]
        ),
        Story(
            testDescription: "what is to be tried in halves keeps its users' later events back",
            batch: "Ae Be Ah Ch Bh",
            said: ["A0": .split("413"), "B1": .split("413")],
            sent: "e A0 B1 | h C3",
            verdicts: [.split("413"), .split("413"), held, .delivered, held]
        ),
        Story(
            testDescription: "what will never be taken keeps nothing back",
            batch: "Ae Ah Ae",
            said: ["A0": .rejected("no such group")],
            sent: "e A0 | h A1 | e A2",
            verdicts: [.rejected("no such group"), .delivered, .delivered]
        ),
        Story(
            testDescription: "a failure in the middle keeps back what comes after it alone",
            batch: "Ae Ah Ae Ah",
            said: ["A1": .failed("400")],
            sent: "e A0 | h A1",
            verdicts: [.delivered, .failed("400"), held, held]
        ),
    ]

    @Test("no event is sent before an earlier one of the same user", arguments: stories)
    func delivery(story: Story) async {
        let sent = Mutex<[DeliveryPlan<Way>.Request]>([])
        let report = await DeliveryPlan<Way>(Self.batch(story.batch), by: Self.way(of:)).deliver { request in
            sent.withLock { $0.append(request) }
            return DeliveryReport(request.events.map { story.said[$0.id, default: .delivered] })
        }
        #expect(Self.text(sent.withLock { $0 }) == story.sent)
        #expect(report.verdicts == .each(story.verdicts))
    }

    @Test(
        "a report that is too short leaves the rest of its request without an answer, and one that is too long is cut",
        arguments: [(0, "e A0 B1 | h C3"), (1, "e A0 B1 | h A2 C3"), (3, "e A0 B1 | h A2 C3 B4")]
    )
    func reportOfAnotherLength(length: Int, requests: String) async {
        let batch = Self.batch("Ae Be Ah Ch Bh")
        let sent = Mutex<[DeliveryPlan<Way>.Request]>([])
        let report = await DeliveryPlan<Way>(batch, by: Self.way(of:)).deliver { request in
            sent.withLock { $0.append(request) }
            guard request.lane == .e else { return DeliveryReport(.delivered) }
            return DeliveryReport(Array(repeating: .delivered, count: length))
        }
        let isBehind = [0, 1, 0, 3, 1].map { $0 < 2 && $0 >= length }
        var expected = isBehind.map { $0 ? Verdict.outage() : .delivered }.map(Optional.some)
        for place in 0..<2 where isBehind[place] { expected[place] = nil }
        #expect(Self.text(sent.withLock { $0 }) == requests)
        #expect(report.verdicts == .each(expected))
    }

    @Test("a request knows its events' positions in the batch, even if some events stay behind")
    func places() async {
        let plan = DeliveryPlan<Way>(Self.batch("Ae Ah Bh Be Ae"), by: Self.way(of:))
        #expect(plan.requests.map(\.places) == [[0], [1, 2], [3, 4]])
        let sent = Mutex<[[Int]]>([])
        _ = await plan.deliver { request in
            sent.withLock { $0.append(request.places) }
            return DeliveryReport(request.lane == .e ? .failed("400") : .delivered)
        }
        #expect(sent.withLock { $0 } == [[0], [2], [3]])
    }

    @Test("campaigns in the answer to any of the requests are reported")
    func campaigns() async {
        let campaign = Campaign(id: "c", target: "t", experience: Variation(id: "v"))
        let report = await DeliveryPlan<Way>(Self.batch("Ae Ah"), by: Self.way(of:)).deliver { request in
            DeliveryReport(
                .delivered,
                campaigns: request.events.map { ReceivedCampaign(eventID: $0.id, campaign: campaign) }
            )
        }
        #expect(report.campaigns.map(\.eventID) == ["A0", "A1"])
        #expect(!report.isDisabled)
    }

    @Test("after a kill switch or a cancellation, nothing more is sent or reported", arguments: [true, false])
    func ends(isKilled: Bool) async {
        let batch = Self.batch("Ae Bh Ah")
        let report = await Task {
            await DeliveryPlan<Way>(batch, by: Self.way(of:)).deliver { request in
                if !isKilled { withUnsafeCurrentTask { $0?.cancel() } }
                return DeliveryReport(.delivered, isDisabled: isKilled)
            }
        }.value
        #expect(report.verdicts == .each([.delivered, nil, nil]))
        #expect(report.isDisabled == isKilled)
    }

    // MARK: Batches as text

    /// Creates events from text: `Ae` is an event of user A for lane e; ids consist of user and index.
    private static func batch(_ text: String) -> [Envelope] {
        text.split(separator: " ").enumerated().map { place, token in
            Envelope(
                id: "\(token.prefix(1))\(place)",
                identity: Identity(id: String(token.prefix(1))),
                event: .custom(String(token.dropFirst())),
                date: Date(timeIntervalSince1970: 0)
            )
        }
    }

    private static func way<Lane: DeliveryLane & RawRepresentable<String>>(of envelope: Envelope) -> Lane {
        if case .custom(let name, _) = envelope.event.kind, let lane = Lane(rawValue: name) { return lane }
        return Array(Lane.allCases)[0]
    }

    private static func text<Lane: DeliveryLane>(_ requests: [DeliveryPlan<Lane>.Request]) -> String {
        requests.map { "\($0.lane) " + $0.events.map(\.id).joined(separator: " ") }.joined(separator: " | ")
    }
}
