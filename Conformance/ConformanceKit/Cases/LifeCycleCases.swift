import Experimentation

extension ConformanceCase {
    /// Promise 18: status changes.
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
        status("status/late-observers", "A late observer receives the current status") { probe in
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
            "A vendor that fails from the start is announced as ERROR, with a reason"
        ) { probe in
            // Injected before the client exists, since a client that fetches by itself would be ready meanwhile.
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
        status("status/changed-configuration", "Changed decisions are announced, and unchanged ones aren't") { probe in
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
        status("status/several-observers", "Every observer receives every announcement") { probe in
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
            let didEnd = try? await Bounded.run(for: .seconds(10)) {
                await listening.value
                return true
            }
            probe.expect(didEnd == true, "the announcements must end")
            listening.cancel()
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
}

/// Records every announcement of a client until it ends.
final class StatusRecorder: Sendable {
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
