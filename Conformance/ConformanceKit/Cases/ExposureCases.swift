import Experimentation

extension ConformanceCase {
    /// Promise 10: an exposure is recorded once, and never for a default, an error or without consent.
    static let exposures: [ConformanceCase] = [
        exposure(
            "exposures/recorded-once",
            "Repeated reads of an experiment's flag are one exposure",
            probes: .exposures
        ) {
            probe in
            let session = try await probe.readySession()
            for _ in 0..<5 { _ = session.string("checkout-color", default: "?") }
            _ = session.details("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        ConformanceCase(
            "exposures/say-what-was-seen",
            promise: 10,
            "An exposure names the experiment and the variation",
            requires: [.flags, .experiments, .exposures],
            needs: checkout,
            fields: [.experiment],
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            let seen = try await probe.exposures()
            probe.expect(seen.map(\.experiment), equals: ["checkout"], "the experiment")
            probe.expect(seen.map(\.variation), equals: ["green"], "the variation")
        },
        ConformanceCase(
            "exposures/say-who-saw-it",
            promise: 10,
            "Each user's exposure carries that user's id",
            requires: [.flags, .experiments, .exposures],
            needs: checkout,
            fields: [.userID],
            world: .shop
        ) { probe in
            for user in [User.ada, .ben] {
                _ = try await probe.readySession(for: user).string("checkout-color", default: "?")
            }
            try await probe.deliverAll()
            let users = try await probe.exposures().compactMap(\.userID).sorted()
            probe.expect(users, equals: ["ada", "ben"], "the users")
        },
        exposure("exposures/once-for-two-flags", "Two flags of one experiment are one exposure", world: twoFlags) {
            probe in
            let session = try await probe.readySession()
            _ = session.string("checkout-color", default: "?")
            _ = session.string("checkout-label", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        exposure("exposures/once-from-many-tasks", "Concurrent reads from many tasks are one exposure") { probe in
            let session = try await probe.readySession()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { _ = session.string("checkout-color", default: "?") } }
            }
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        exposure(
            "exposures/not-again-after-a-refresh",
            "A refresh that changes nothing causes no further exposure"
        ) { probe in
            let session = try await probe.readySession()
            _ = session.string("checkout-color", default: "?")
            await probe.refresh(session)
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        exposure("exposures/again-in-another-session", "Another session of the same user is another exposure") {
            probe in
            for _ in 0..<2 { _ = try await probe.readySession().string("checkout-color", default: "?") }
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 2, "exposures")
        },
        exposure(
            "exposures/of-the-control-too",
            "Users in the control are exposed, too",
            needs: ["experiments/checkout/forced"],
            world: .forced
        ) { probe in
            _ = try await probe.readySession(for: .ada).string("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        exposure("exposures/none-for-a-default", "A read that gives the default isn't an exposure") { probe in
            let session = try await probe.readySession()
            _ = session.string("no-such-flag-7c1", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
        exposure("exposures/none-for-a-mismatch", "A read with the wrong type isn't an exposure") { probe in
            let session = try await probe.readySession()
            _ = session.int("checkout-color", default: 1)
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
        exposure("exposures/none-before-decisions", "A read before the first decisions isn't an exposure") { probe in
            let session = try await probe.session()
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
        exposure("exposures/none-for-looking-around", "Inspecting decisions and assignments isn't an exposure") {
            probe in
            let session = try await probe.readySession()
            _ = session.decisions["checkout-color"]
            _ = session.assignments
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
        exposure("exposures/none-when-denied", "Without consent nothing is recorded, and nothing is sent later") {
            probe in
            let session = try await probe.readySession(for: .dan)
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
            probe.expect(try await probe.ledger().accepted, equals: 0, "accepted events")
        },
        exposure("exposures/unknown-consent", "Unknown consent holds exposures only where the vendor needs consent") {
            probe in
            let session = try await probe.readySession(for: .cleo)
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            let isHeld = try await probe.needsConsent()
            probe.expect(try await probe.exposures().count, equals: isHeld ? 0 : 1, "exposures before consent")
            try await session.setConsent(.granted)
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures after consent")
        },
        exposure("exposures/every-read", "With the policy everyRead, each read is an exposure") { probe in
            _ = try await probe.client(ClientOptions(exposurePolicy: .everyRead))
            let session = try await probe.readySession()
            for _ in 0..<3 { _ = session.string("checkout-color", default: "?") }
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 3, "exposures")
        },
        exposure("exposures/by-hand", "With the policy manual, only the application records exposures, once each") {
            probe in
            _ = try await probe.client(ClientOptions(exposurePolicy: .manual))
            let session = try await probe.readySession()
            _ = session.string("checkout-color", default: "?")
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures by reading")
            let place = try probe.unwrap(probe.place(in: "checkout", of: session), "the place")
            try session.expose(place.experiment.id)
            try session.expose(place.experiment.id)
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures by hand")
        },
        exposure(
            "exposures/by-hand-without-a-place",
            "Recording an exposure for an experiment that the user isn't in is rejected"
        ) {
            probe in
            let session = try await probe.readySession()
            await probe.expectError("expose", .invalidArgument) { try session.expose("no-such-experiment") }
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
        exposure("exposures/survive-a-kill", "A recorded exposure is delivered after a kill") { probe in
            let session = try await probe.readySession()
            try await probe.setReachable(false)
            // Offline, so that nothing is in flight at the kill: such exposures may arrive twice.
            await (try await probe.client()).setConnectivity(.offline)
            _ = session.string("checkout-color", default: "?")
            try await probe.eventually("the exposure is stored") { try await probe.ledger().accepted == 1 }
            try await probe.kill()
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
        },
        exposure(
            "exposures/outlive-an-outage",
            "An exposure waits while the vendor fails, and arrives once it recovers"
        ) { probe in
            let session = try await probe.readySession()
            try await probe.inject(WorldFault(.status(503), on: .exposures, times: 3))
            _ = session.string("checkout-color", default: "?")
            let ledger = try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 1, "exposures")
            probe.expect(ledger.pending, equals: 0, "what waits")
        },
        exposure("exposures/before-what-follows", "An exposure reaches the vendor before a purchase made later") {
            probe in
            let session = try await probe.readySession()
            _ = session.string("checkout-color", default: "?")
            try await probe.track(try await probe.event(1), in: session)
            try await probe.deliverAll()
            let types = try await probe.received().map { $0.type == "exposure" ? "exposure" : "event" }
            probe.expect(types, equals: ["exposure", "event"], "the order")
        },
        exposure("exposures/between-events", "Exposures and events arrive in the order in which they happened") {
            probe in
            try await probe.seeAndTrackTwice()
            try await probe.deliverAll()
            probe.expect(try await probe.seenAndTracked(), equals: ["exposure", "1", "exposure", "2"], "the order")
        },
        exposure(
            "exposures/between-events-through-an-outage",
            "Later events wait behind an exposure that can't be delivered yet"
        ) { probe in
            try await probe.inject(WorldFault(.status(503), on: .exposures, times: 2))
            try await probe.seeAndTrackTwice()
            let ledger = try await probe.deliverAll()
            probe.expect(try await probe.seenAndTracked(), equals: ["exposure", "1", "exposure", "2"], "the order")
            probe.expect(ledger, equals: Ledger(accepted: 4, delivered: 4), "the ledger")
        },
        ConformanceCase(
            "exposures/decided-elsewhere",
            promise: 10,
            "An exposure to another vendor's decision is recorded once",
            requires: [.exposures],
            world: .shop
        ) { probe in
            guard !probe.subject.capabilities.contains(.flags) else {
                throw CaseDoesNotApply("\(probe.subject.name) decides its flags itself")
            }
            probe.decideElsewhere()
            let session = try await probe.readySession()
            for _ in 0..<3 {
                probe.expect(session.string("checkout-color", default: "?"), equals: "green", "the value")
            }
            let ledger = try await probe.deliverAll()
            let seen = try await probe.exposures()
            probe.expect(seen.count, equals: 1, "exposures")
            probe.expect(ledger, equals: Ledger(accepted: 1, delivered: 1), "the ledger")
            guard probe.subject.wireFields.contains(.experiment) else { return }
            probe.expect(seen.map(\.experiment), equals: ["checkout"], "the experiment")
            probe.expect(seen.map(\.variation), equals: ["green"], "the variation")
        },
    ]

    private static let checkout = ["experiments/checkout", "flags/checkout-color"]

    private static func exposure(
        _ name: String,
        _ summary: String,
        needs: [String] = [],
        probes: Capability? = nil,
        world: World = .shop,
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(
            name,
            promise: 10,
            summary,
            requires: [.flags, .experiments, .exposures],
            needs: checkout + needs,
            probes: probes,
            world: world,
            steps: steps
        )
    }
}

extension Probe {
    /// Records an exposure, an event, an exposure and an event.
    fileprivate func seeAndTrackTwice() async throws {
        _ = try await client(ClientOptions(exposurePolicy: .everyRead))
        let session = try await readySession()
        for number in 1...2 {
            _ = session.string("checkout-color", default: "?")
            try await trackMarks(number...number, in: session)
        }
    }

    /// What arrived, in order: `exposure`, or the event's number.
    fileprivate func seenAndTracked() async throws -> [String] {
        try await received().map { $0.type == "exposure" ? $0.type : Self.mark($0).map(String.init) ?? $0.type }
    }
}
