import Experimentation

extension ConformanceCase {
    /// Promise 19: the kill switch.
    static let killSwitches: [ConformanceCase] = [
        killSwitch(
            "kill-switch/reaches-the-next-read",
            "With the switch on, reads give the default with the reason DISABLED",
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
        killSwitch("kill-switch/from-the-start", "A vendor switched off from the start makes no decisions") {
            probe in
            try await probe.setKillSwitch(true)
            let session = try await probe.session()
            await probe.refresh(session)
            probe.expect(session.string("welcome", default: "x"), equals: "x", "the value")
            probe.expect(session.status, equals: .disabled, "the status")
        },
        killSwitch("kill-switch/announced", "Switching off and on is announced once each") { probe in
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
        killSwitch("kill-switch/survives-a-restart", "The switch survives a restart with the vendor unreachable") {
            probe in
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
            "An outage doesn't lift the switch"
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
            "While the switch is on, nothing is delivered and nothing is lost",
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
            "kill-switch/in-an-answer-to-events",
            promise: 19,
            "A switch in the answer to an event stops later deliveries, and nothing is lost",
            requires: [.tracking, .killSwitch],
            probes: .killSwitch,
            world: .oneFlag
        ) { probe in
            let client = try await probe.client()
            let session = try await probe.session()
            let decides = try await probe.roles().decisions != nil
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            try await probe.setKillSwitch(true)
            try await probe.trackMarks(2...2, in: session)
            try await probe.tryOnce()
            if client.status != .disabled {
                let isTaken = try await probe.marks().contains(2)
                try probe.require(
                    decides && isTaken,
                    "the answer to an event must tell of the switch; the vendor took \(isTaken ? "it" : "nothing")"
                )
                throw CaseDoesNotApply("\(probe.subject.name) tells of its switch with its decisions alone")
            }
            let before = try await probe.exchanges(.events).count
            try await probe.trackMarks(3...4, in: session)
            // Ends at once where nothing may be delivered; on a busy machine a delivery takes its time.
            _ = try await probe.flush(within: .seconds(10))
            probe.expect(try await probe.exchanges(.events).count, equals: before, "requests while it is on")
            let ledger = try await probe.ledger()
            probe.expect(ledger.delivered + ledger.pending, equals: 4, "events that arrived or wait: \(ledger)")
            // Only decisions say that it is off again.
            guard decides else { return }
            try await probe.setKillSwitch(false)
            await probe.refresh(session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2, 3, 4], "what the vendor took in the end")
        },
        ConformanceCase(
            "kill-switch/no-exposures",
            promise: 19,
            "Reads while the switch is on record no exposure",
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
