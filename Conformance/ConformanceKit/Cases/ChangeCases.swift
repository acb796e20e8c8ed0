import Experimentation
import Foundation
import Synchronization

extension ConformanceCase {
    /// Promises 3, 10, 14 and 18 when something changes while in use: decisions, variations, credentials.
    static let changes: [ConformanceCase] = [
        ConformanceCase(
            "changes/told-to-observers",
            promise: 18,
            "An observer is told which flags a refresh changed, and isn't told of one that changed nothing",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: twoPlainFlags
        ) { probe in
            let session = try await probe.readySession()
            let recorder = ChangeRecorder(session)
            await probe.refresh(session)
            try await probe.change { $0.flags[0].value = "Good day!" }
            await probe.refresh(session)
            try await probe.eventually("the change is told") { !recorder.flags.isEmpty }
            probe.expect(recorder.flags, equals: [["welcome"]], "the flags that changed")
        },
        ConformanceCase(
            "changes/polled",
            promise: 18,
            "Where decisions are asked for again and again, a change is read without a refresh",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: twoPlainFlags
        ) { probe in
            guard let interval = try await probe.polling(), interval > .zero else {
                throw CaseDoesNotApply("\(probe.subject.name) asks only when it is told to")
            }
            let session = try await probe.readySession()
            try await probe.change { $0.flags[0].value = "Good day!" }
            let client = try await probe.client()
            try await probe.eventually("the change is fetched", pushing: interval * 1.2) {
                // Rulesets are shared by all readers; a source that polls by itself asks for the users of sessions.
                [session.string("welcome", default: "x"), client.string("welcome", default: "x", for: .ada)]
                    .contains("Good day!")
            }
        },
        ConformanceCase(
            "changes/pushed",
            promise: 18,
            "Where the vendor tells of changes, they are read without a refresh and told to observers",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: twoPlainFlags
        ) { probe in
            guard try await probe.roles().changes != nil, try await probe.stage.tellsOfChanges else {
                throw CaseDoesNotApply("\(probe.subject.name) doesn't tell of changes")
            }
            let session = try await probe.readySession()
            let recorder = ChangeRecorder(session)
            // A change announced before the client listens is lost, so each round changes the world again.
            var number = 0
            try await probe.eventually("the change is read") {
                number += 1
                try await probe.stage.change(to: probe.world.changing { $0.flags[0].value = .string("Day \(number)!") })
                try await Task.sleep(for: .milliseconds(20))
                return session.string("welcome", default: "x").hasPrefix("Day ")
            }
            try await probe.eventually("observers are told") { recorder.flags.contains(["welcome"]) }
            probe.expect(session.string("farewell", default: "x"), equals: "Bye!", "what didn't change")
        },
        ConformanceCase(
            "exposures/again-when-the-variation-changes",
            promise: 10,
            "A user who comes into another variation is exposed to that too, once",
            requires: [.flags, .experiments, .exposures],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: .forced
        ) { probe in
            let session = try await probe.readySession(for: .ada)
            _ = session.string("checkout-color", default: "?")
            try await probe.change { $0.experiments[0].forced = ["ada": "green", "ben": "green"] }
            probe.push(.seconds(3_600))
            await probe.refresh(session)
            for _ in 0..<3 { _ = session.string("checkout-color", default: "?") }
            probe.expect(session.string("checkout-color", default: "?"), equals: "green", "the value afterwards")
            try await probe.deliverAll()
            let seen = try await probe.exposures()
            probe.expect(seen.count, equals: 2, "exposures")
            if probe.subject.wireFields.contains(.experiment) {
                probe.expect(seen.map(\.variation), equals: ["control", "green"], "the variations")
            }
        },
        ConformanceCase(
            "exposures/original-time",
            promise: 10,
            "An exposure that is delivered late carries the time when the user saw the variation",
            requires: [.flags, .experiments, .exposures],
            needs: ["experiments/checkout", "flags/checkout-color"],
            fields: [.date],
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setReachable(false)
            // Keeps the event's time apart from the machine's, which a mock could record instead.
            probe.push(.seconds(7_200))
            let happened = probe.time.now
            _ = session.string("checkout-color", default: "?")
            try await probe.eventually("the exposure is stored") { try await probe.ledger().accepted == 1 }
            probe.push(.seconds(1_800))
            try await probe.setReachable(true)
            try await probe.deliverAll()
            let date = try probe.unwrap(try await probe.exposures().first.flatMap(probe.date), "the time on the wire")
            let difference = abs(date.timeIntervalSince(happened))
            probe.expect(difference < 30, "the time on the wire is \(difference) s off")
        },
        ConformanceCase(
            "exposures/both-ids-travel",
            promise: 17,
            "After a login exposures carry the known id and the anonymous one",
            requires: [.flags, .experiments, .exposures],
            needs: ["experiments/checkout", "flags/checkout-color"],
            fields: [.userID, .anonymousID],
            world: .shop
        ) { probe in
            let session = try await probe.session(for: User(id: "guest-1", consent: .granted))
            session.identify(Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true))
            await probe.refresh(session)
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            let seen = try await probe.exposures()
            probe.expect(seen.map(\.userID), equals: ["ada"], "the user's id")
            probe.expect(seen.map(\.anonymousID), equals: ["guest-1"], "the anonymous id")
        },
        delivery(
            "outages/credentials-refused-in-the-middle",
            14,
            "Credentials that are refused between two events lose none, and keep the order"
        ) { probe in
            _ = try await probe.client(
                ClientOptions(batching: BatchPolicy(count: 1, largest: 1, interval: .seconds(1)))
            )
            try await probe.inject(WorldFault(.status(401), on: .events, after: 2, times: 2))
            let session = try await probe.session()
            for number in 1...5 {
                try await probe.trackMarks(number...number, in: session)
                try await probe.tryOnce()
            }
            // Pushes that lead to no delivery would make the events too old for some vendors.
            try await probe.eventually("all five arrive", pushing: .seconds(1_000)) {
                try await Probe.first(probe.marks()).count == 5
            }
            let ledger = try await probe.deliverAll()
            probe.expect(Probe.first(try await probe.marks()), equals: Array(1...5), "what the vendor took")
            probe.expect(ledger, equals: Ledger(accepted: 5, delivered: 5), "the ledger")
        },
        delivery(
            "outages/credentials-expire-in-the-middle",
            14,
            "Where credentials are fetched, ones that have expired are fetched anew, and the delivery goes on"
        ) { probe in
            let session = try await probe.session()
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            let fetched = try await probe.exchanges(.authentication).count
            guard fetched > 0 else {
                throw CaseDoesNotApply("\(probe.subject.name)'s credentials are settings")
            }
            try await probe.inject(WorldFault(.status(401), on: .events, times: 1))
            try await probe.trackMarks(2...3, in: session)
            // Only this attempt and the next: delivery must resume without anyone fixing the settings first.
            try await probe.deliverAll(rounds: 2)
            probe.expect(Probe.first(try await probe.marks()), equals: [1, 2, 3], "what the vendor took")
            let again = try await probe.exchanges(.authentication).count
            probe.expect(again > fetched, "the credentials must be fetched anew")
        },
    ]

    private static let twoPlainFlags = World(
        name: "two-flags-of-everybody",
        flags: [.init("welcome", "Hello!"), .init("farewell", "Bye!")],
        users: [.ada]
    )
}

/// Records the changes of a session.
private final class ChangeRecorder: Sendable {
    private let state = Mutex<[Set<String>]>([])

    init(_ session: UserSession) {
        let changes = session.changes
        Task { [weak self] in
            for await change in changes where !change.flags.isEmpty {
                guard let self else { return }
                state.withLock { $0.append(change.flags) }
            }
        }
    }

    /// The flags of each change, in order.
    var flags: [Set<String>] { state.withLock { $0 } }
}

extension Probe {
    /// How often the client polls this vendor; `nil` if it doesn't.
    fileprivate func polling() async throws -> Duration? {
        switch try await roles().decisions {
        case .asked(let source): source.freshness.polling
        case .computed(let source): source.freshness.polling
        case nil: nil
        }
    }
}
