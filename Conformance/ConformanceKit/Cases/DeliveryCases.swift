import Experimentation
import Foundation

extension ConformanceCase {
    /// Promises 11 and 12: nothing accepted is lost, and the ledger balances.
    static let delivery: [ConformanceCase] = [
        delivery("delivery/one-event", 11, "An accepted event reaches the vendor once", probes: .tracking) {
            probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            let ledger = try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1], "what the vendor took")
            probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
        },
        delivery("delivery/whose-it-is", 11, "An event carries its user's id", fields: [.userID]) { probe in
            for user in [User.ada, .ben] { try await probe.trackMarks(1...2, in: try await probe.session(for: user)) }
            try await probe.deliverAll()
            let users = Set(try await probe.received().map(\.userID))
            probe.expect(users, equals: ["ada", "ben"], "the users")
            probe.expect(try await probe.marks(of: "ada"), equals: [1, 2], "ada's events")
        },
        delivery(
            "delivery/who-it-was-then",
            11,
            "An event belongs to the identity the user had when it happened",
            fields: [.userID]
        ) { probe in
            try await probe.setReachable(false)
            let session = try await probe.session(for: .ada)
            try await probe.trackMarks(1...1, in: session)
            session.identify(Identity(id: "ben"))
            try await probe.trackMarks(2...2, in: session)
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(of: "ada"), equals: [1], "ada's events")
            probe.expect(try await probe.marks(of: "ben"), equals: [2], "ben's events")
        },
        delivery("delivery/in-order", 11, "Twenty events of one user arrive in order") { probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...20, in: session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: Array(1...20), "the order")
        },
        delivery("delivery/in-order-through-an-outage", 11, "A failure in between doesn't change the order") {
            probe in
            try await probe.inject(WorldFault(.status(503), on: .events, after: 1, times: 2))
            let session = try await probe.session()
            for number in 1...6 {
                try await probe.trackMarks(number...number, in: session)
                try await probe.tryOnce()
            }
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: Array(1...6), "the order")
        },
        delivery(
            "delivery/users-beside-each-other",
            11,
            "Each user's events keep their order beside other users' events",
            fields: [.userID]
        ) { probe in
            let ada = try await probe.session(for: .ada)
            let ben = try await probe.session(for: .ben)
            for number in 1...5 {
                try await probe.trackMarks(number...number, in: ada)
                try await probe.trackMarks(number...number, in: ben)
            }
            try await probe.deliverAll()
            probe.expect(try await probe.marks(of: "ada"), equals: Array(1...5), "ada's events")
            probe.expect(try await probe.marks(of: "ben"), equals: Array(1...5), "ben's events")
        },
        delivery("delivery/from-many-tasks", 11, "Concurrent events from many tasks all arrive, each once") { probe in
            let session = try await probe.session()
            _ = try await probe.event(1)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...30 {
                    group.addTask { try await session.track(try await probe.event(number)) }
                }
                try await group.waitForAll()
            }
            let ledger = try await probe.deliverAll()
            probe.expect(try await probe.marks().sorted(), equals: Array(1...30), "what the vendor took")
            probe.expect(ledger.delivered, equals: 30, "delivered")
        },
        delivery("delivery/survives-a-kill", 11, "An accepted event is durable: it is delivered after a kill") {
            probe in
            try await probe.setReachable(false)
            // Offline, so that nothing is in flight at the kill: that is the next case.
            await (try await probe.client()).setConnectivity(.offline)
            let session = try await probe.session()
            try await probe.trackMarks(1...3, in: session)
            try await probe.kill()
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            let ledger = try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3], "what the vendor took")
            probe.expect(ledger, equals: Ledger(accepted: 3, delivered: 3), "the ledger")
        },
        delivery(
            "delivery/survives-a-kill-on-the-way",
            11,
            "An event whose delivery a kill interrupted is delivered again"
        ) { probe in
            try await probe.inject(WorldFault(.stall, on: .events, times: 1))
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            let client = try await probe.client()
            let flushing = Task { _ = try? await client.flush(within: .seconds(1)) }
            try await probe.eventually("the event is on its way") { try await !probe.exchanges(.events).isEmpty }
            try await probe.kill()
            flushing.cancel()
            try await probe.stage.clearFaults()
            probe.push(.seconds(3_600))
            try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: [1], "what the vendor took")
            probe.expect(try await probe.ledger().delivered, equals: 1, "delivered")
        },
        delivery(
            "delivery/lost-answer-is-repeated",
            11,
            "An event whose answer was lost is sent again, and counted once"
        ) { probe in
            try await probe.inject(WorldFault(.resetAfterApplying, on: .events, times: 1))
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            let ledger = try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: [1], "what the vendor took")
            probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
        },
        delivery(
            "delivery/repetition-has-the-same-id",
            11,
            "A repeated event has the same id",
            requires: [.eventIDs],
            fields: [.eventID],
            probes: .eventIDs
        ) { probe in
            try await probe.inject(WorldFault(.resetAfterApplying, on: .events, times: 1))
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            let ids = try await probe.received().compactMap(\.eventID)
            probe.expect(!ids.isEmpty, "an id on the wire")
            probe.expect(Set(ids).count, equals: 1, "different ids of one event")
        },
        delivery(
            "delivery/ids-differ",
            11,
            "Two events have different ids",
            requires: [.eventIDs],
            fields: [.eventID]
        ) { probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...2, in: session)
            try await probe.deliverAll()
            probe.expect(Set(try await probe.received().compactMap(\.eventID)).count, equals: 2, "ids")
        },
        delivery("delivery/original-time", 11, "A delayed event carries the time when it happened", fields: [.date]) {
            probe in
            try await probe.setReachable(false)
            let session = try await probe.session()
            // Keeps the event's time apart from the machine's, which a mock could record instead.
            probe.push(.seconds(7_200))
            let happened = probe.time.now
            try await probe.trackMarks(1...1, in: session)
            probe.push(.seconds(1_800))
            try await probe.setReachable(true)
            try await probe.deliverAll()
            let date = try probe.unwrap(try await probe.received().first.flatMap(probe.date), "the time on the wire")
            let difference = abs(date.timeIntervalSince(happened))
            probe.expect(difference < 30, "the time on the wire is \(difference) s off")
        },
        delivery("delivery/without-a-flush", 11, "Waiting events are delivered after the interval, without a flush") {
            probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            try await probe.eventually("the event arrives", pushing: try await probe.interval() + .seconds(1)) {
                try await probe.marks() == [1]
            }
        },
        delivery(
            "delivery/a-full-batch-goes-at-once",
            11,
            "A full batch is delivered without waiting"
        ) { probe in
            _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 3, interval: .seconds(3_600))))
            let session = try await probe.session()
            try await probe.trackMarks(1...2, in: session)
            probe.expect(try await probe.marks(), equals: [], "two of three")
            try await probe.trackMarks(3...3, in: session)
            try await probe.eventually("all three arrive") { try await probe.marks() == [1, 2, 3] }
        },
        delivery(
            "delivery/several-in-one-request",
            11,
            "Ten events of a batch need fewer than ten requests",
            requires: [.batching],
            probes: .batching
        ) { probe in
            _ = try await probe.client(ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600))))
            let session = try await probe.session()
            try await probe.trackMarks(1...10, in: session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: Array(1...10), "what the vendor took")
            let requests = try await probe.exchanges(.events).count
            probe.expect(requests < 10, "\(requests) requests for ten events")
        },
        delivery("delivery/going-to-the-background", 11, "Going to the background delivers waiting events") { probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            await (try await probe.client()).setApplicationState(.background)
            probe.expect(try await probe.marks(), equals: [1], "what the vendor took")
        },
        delivery("delivery/no-network", 11, "Without a network nothing is sent; delivery resumes with the network") {
            probe in
            let client = try await probe.client()
            await client.setConnectivity(.offline)
            let session = try await probe.session()
            try await probe.trackMarks(1...2, in: session)
            // Ends at once where nothing may be delivered; on a busy machine a delivery takes its time.
            _ = try await client.flush(within: .seconds(10))
            probe.expect(try await probe.exchanges(.events).count, equals: 0, "requests without a network")
            await client.setConnectivity(.online)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2], "what the vendor took")
        },
        delivery("delivery/before-decisions", 11, "Events are accepted and delivered before the first decisions") {
            probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1], "what the vendor took")
        },
        delivery("ledger/pending", 12, "A waiting event is counted as accepted and pending") { probe in
            try await probe.setReachable(false)
            try await probe.trackMarks(1...4, in: try await probe.session())
            _ = try await probe.flush(within: .milliseconds(300))
            probe.expect(try await probe.ledger(), equals: Ledger(accepted: 4, pending: 4), "the ledger")
        },
        delivery("ledger/survives-a-restart", 12, "The ledger continues after a restart") { probe in
            try await probe.trackMarks(1...2, in: try await probe.session())
            try await probe.deliverAll()
            try await probe.restart()
            try await probe.trackMarks(3...3, in: try await probe.session())
            let ledger = try await probe.deliverAll()
            probe.expect(ledger, equals: Ledger(accepted: 3, delivered: 3), "the ledger")
        },
        delivery("ledger/refused-events-are-no-entries", 12, "Rejected events don't appear in the ledger") { probe in
            let session = try await probe.session()
            await probe.expectError("a value that isn't finite", .invalidArgument, .unsupported, .invalidContext) {
                try await session.track(.custom("mark-1", value: .nan))
            }
            await probe.expectError("an event without a name", .invalidArgument, .unsupported) {
                try await session.track(.custom(""))
            }
            probe.expect(try await probe.ledger(), equals: Ledger(), "the ledger")
        },
        delivery("ledger/balances-in-a-storm", 12, "The ledger balances at every moment of a series of failures") {
            probe in
            try await probe.inject(
                WorldFault(.status(503), on: .events, times: 2),
                WorldFault(.reset, on: .events, times: 1),
                WorldFault(.status(429, retryAfter: 1), on: .events, times: 1),
                WorldFault(.resetAfterApplying, on: .events, times: 1)
            )
            let session = try await probe.session()
            for number in 1...10 {
                try await probe.trackMarks(number...number, in: session)
                if number.isMultiple(of: 2) { try await probe.tryOnce() }
                let ledger = try await probe.ledger()
                probe.expect(ledger.isBalanced, "after event \(number): \(ledger)")
            }
            let ledger = try await probe.deliverAll()
            probe.expect(ledger, equals: Ledger(accepted: 10, delivered: 10), "the ledger at the end")
            probe.expect(Probe.first(try await probe.marks()), equals: Array(1...10), "what the vendor took")
        },
    ]

    static func delivery(
        _ name: String,
        _ promise: Int,
        _ summary: String,
        requires: Set<Capability> = [],
        fields: Set<Received.Field> = [],
        probes: Capability? = nil,
        world: World = .shop,
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(
            name,
            promise: promise,
            summary,
            requires: requires.union([.tracking]),
            fields: fields,
            probes: probes,
            world: world,
            steps: steps
        )
    }
}

extension Probe {
    /// The longest time that this vendor's events wait before delivery.
    public func interval() async throws -> Duration {
        let roles = try await roles()
        let sinks = [roles.events].compactMap { $0 } + roles.furtherRoutes.map(\.sink)
        return sinks.map(\.batching.interval).max() ?? .zero
    }
}
