import Experimentation

extension ConformanceCase {
    /// Promises 18 and 19: status changes and the kill switch.
    static let lifeCycle: [ConformanceCase] = [
        status("status/ready-after-the-first-decisions", "Not ready first, ready with the first decisions", needs: []) {
            probe in
            let session = try await probe.session()
            let client = try await probe.client()
            probe.expect(session.status, equals: .notReady, "the session's status before")
            await probe.refresh(session)
            probe.expect(session.status, equals: .ready, "the session's status after")
            probe.expect(client.status, equals: .ready, "the client's status after")
        },
        status("status/late-observers", "Whoever comes late is told how it stands now") { probe in
            _ = try await probe.readySession()
            var events = try await probe.client().statusEvents().makeAsyncIterator()
            let first = await events.next()
            probe.expect(first?.status, equals: .ready, "the first thing that an observer hears")
        },
        status("status/in-order-and-once", "Ready, stale and ready again are announced once each, in this order") {
            probe in
            let client = try await probe.client()
            let recorder = StatusRecorder(client)
            let session = try await probe.readySession()
            try await probe.inject(WorldFault(.status(500), on: .decisions, times: nil))
            await probe.refresh(session)
            await probe.refresh(session)
            try await probe.stage.clearFaults()
            probe.push(.seconds(600))
            await probe.refresh(session)
            await probe.refresh(session)
            await client.shutdown(within: .seconds(1))
            let seen = await recorder.statusesSinceReady()
            probe.expect(seen, equals: [.ready, .stale, .ready], "the statuses")
        },
        status(
            "status/error-without-decisions",
            "A vendor that fails from the start is announced as ERROR, with the reason"
        ) { probe in
            // Injected before the client exists, since one that fetches by itself would be ready meanwhile.
            try await probe.inject(WorldFault(.status(500), on: .decisions, times: nil))
            let client = try await probe.client()
            let recorder = StatusRecorder(client)
            await probe.refresh(try await probe.session())
            await client.shutdown(within: .seconds(1))
            let events = await recorder.events()
            let failure = events.last { $0.kind == .error }
            probe.expect(failure?.status, equals: .error, "the status")
            probe.expect(failure?.error != nil, "the reason")
        },
        status("status/changed-configuration", "Other decisions are announced, unless they are the same") { probe in
            guard case .computed = try await probe.roles().decisions else {
                throw CaseDoesNotApply("\(probe.subject.name) decides for each user by itself")
            }
            let client = try await probe.client()
            let recorder = StatusRecorder(client)
            let session = try await probe.readySession()
            await probe.refresh(session)
            try await probe.change { $0.flags = [.init("welcome", "Good day!")] }
            await probe.refresh(session)
            await client.shutdown(within: .seconds(1))
            let changes = await recorder.events().count { $0.kind == .configurationChanged }
            probe.expect(changes, equals: 1, "announced changes")
        },
        status("status/several-observers", "Every observer hears everything") { probe in
            let client = try await probe.client()
            let recorders = [StatusRecorder(client), StatusRecorder(client)]
            _ = try await probe.readySession()
            await client.shutdown(within: .seconds(1))
            for recorder in recorders {
                let seen = await recorder.statusesSinceReady()
                probe.expect(seen, equals: [.ready], "the statuses")
            }
        },
        ConformanceCase(
            "status/ends-with-shutdown",
            promise: 18,
            "The announcements end with the shutdown",
            world: .oneFlag
        ) { probe in
            let client = try await probe.client()
            let events = client.statusEvents()
            let listening = Task { for await _ in events {} }
            await client.shutdown(within: .seconds(1))
            let didEnd = try? await Bounded.run(for: .seconds(2)) {
                await listening.value
                return true
            }
            probe.expect(didEnd == true, "the announcements must end")
            listening.cancel()
        },
        killSwitch(
            "kill-switch/reaches-the-next-read",
            "With the switch on, reads give the default and say DISABLED",
            needs: ["flags/welcome"]
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.reason, equals: .disabled, "the reason")
            probe.expect(session.status, equals: .disabled, "the session's status")
            probe.expect(try await probe.client().status, equals: .disabled, "the client's status")
        },
        killSwitch("kill-switch/from-the-start", "A vendor that is switched off from the start decides nothing") {
            probe in
            try await probe.setKillSwitch(true)
            let session = try await probe.session()
            await probe.refresh(session)
            probe.expect(session.string("welcome", default: "x"), equals: "x", "the value")
            probe.expect(session.status, equals: .disabled, "the status")
        },
        killSwitch("kill-switch/announced", "On and off are announced once each") { probe in
            let client = try await probe.client()
            let recorder = StatusRecorder(client)
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            await probe.refresh(session)
            try await probe.setKillSwitch(false)
            await probe.refresh(session)
            await client.shutdown(within: .seconds(1))
            let seen = await recorder.statusesSinceReady()
            probe.expect(seen, equals: [.ready, .disabled, .ready], "the statuses")
        },
        killSwitch(
            "kill-switch/lifts-cleanly",
            "With the switch off again, decisions are back",
            needs: ["flags/welcome"]
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            try await probe.setKillSwitch(false)
            await probe.refresh(session)
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "Hello!", "the value")
            probe.expect(details.reason != .disabled, "the reason: \(details.reason)")
        },
        killSwitch("kill-switch/survives-a-restart", "The switch holds after a restart without the vendor") { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            try await probe.setReachable(false)
            try await probe.kill()
            let again = try await probe.session()
            probe.expect(again.status, equals: .disabled, "the status")
            probe.expect(again.string("welcome", default: "x"), equals: "x", "the value")
        },
        killSwitch(
            "kill-switch/an-outage-doesn't-lift-it",
            "A vendor that fails while it is switched off stays switched off"
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            try await probe.inject(WorldFault(.status(500), on: .decisions, times: nil))
            await probe.refresh(session)
            probe.expect(session.status, equals: .disabled, "the status")
            probe.expect(session.string("welcome", default: "x"), equals: "x", "the value")
        },
        killSwitch(
            "kill-switch/stops-delivery",
            "Nothing is delivered while the switch is on, and nothing is lost",
            requires: [.tracking]
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            let before = try await probe.exchanges(.events).count
            try await probe.trackMarks(1...2, in: session)
            // Ends at once where nothing may be delivered; on a busy machine a delivery takes its time.
            _ = try await probe.flush(within: .seconds(10))
            probe.expect(try await probe.exchanges(.events).count, equals: before, "requests while it is on")
            try await probe.setKillSwitch(false)
            await probe.refresh(session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2], "what the vendor took in the end")
        },
        ConformanceCase(
            "kill-switch/no-exposures",
            promise: 19,
            "Reading while the switch is on exposes nobody",
            requires: [.flags, .experiments, .exposures, .killSwitch],
            needs: ["experiments/checkout", "flags/checkout-color"],
            world: .shop
        ) { probe in
            let session = try await probe.readySession()
            try await probe.setKillSwitch(true)
            await probe.refresh(session)
            _ = session.string("checkout-color", default: "?")
            try await probe.setKillSwitch(false)
            await probe.refresh(session)
            try await probe.deliverAll()
            probe.expect(try await probe.exposures().count, equals: 0, "exposures")
        },
    ]

    private static func status(
        _ name: String,
        _ summary: String,
        needs: [String] = ["flags/welcome"],
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(name, promise: 18, summary, requires: [.flags], needs: needs, world: .oneFlag, steps: steps)
    }

    private static func killSwitch(
        _ name: String,
        _ summary: String,
        requires: Set<Capability> = [],
        needs: [String] = [],
        _ steps: @escaping Steps
    ) -> ConformanceCase {
        ConformanceCase(
            name,
            promise: 19,
            summary,
            requires: requires.union([.flags, .killSwitch]),
            needs: needs,
            probes: name == "kill-switch/reaches-the-next-read" ? .killSwitch : nil,
            world: .oneFlag,
            steps: steps
        )
    }
}

/// Records every announcement of a client until it ends.
private final class StatusRecorder: Sendable {
    private let listening: Task<[ProviderEvent], Never>

    init(_ client: ExperimentationClient) {
        let stream = client.statusEvents()
        listening = Task {
            var events: [ProviderEvent] = []
            for await event in stream { events.append(event) }
            return events
        }
    }

    func events() async -> [ProviderEvent] { await listening.value }

    /// The statuses since the client was ready, without repetitions, which announce something else.
    ///
    /// A client that fetches by itself may be ready before the recorder listens, so earlier statuses are omitted.
    func statusesSinceReady() async -> [ProviderStatus] {
        var statuses: [ProviderStatus] = []
        for event in await events() where event.kind != .reconciling || event.status == .notReady {
            if statuses.last != event.status { statuses.append(event.status) }
        }
        return Array(statuses.drop { $0 == .notReady })
    }
}
