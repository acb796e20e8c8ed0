import Experimentation

extension ConformanceCase {
    /// Cases about what applies to all vendors of a composition, and about which vendor answers.
    static let together: [ConformanceCase] = [
        several(
            "composition/an-exposure-arrives-once",
            10,
            "An exposure arrives once at each vendor, including those that get it as an event",
            requires: [.flags, .experiments, .exposures],
            needs: ["flags/checkout-color", "experiments/checkout"]
        ) { probe in
            let session = try await probe.readySession()
            for _ in 0..<3 { _ = session.string("checkout-color", default: "?") }
            try await probe.deliverEverywhere()
            var told: [String: Int] = [:]
            for part in probe.stage.parts where part.takesEvents {
                let exposures = try await part.received().filter { $0.type == "exposure" }
                if !exposures.isEmpty { told[part.name] = exposures.count }
                guard part.subject.wireFields.contains(.experiment) || !part.subject.capabilities.contains(.exposures)
                else { continue }
                probe.expect(Set(exposures.map(\.variation)).count <= 1, "one variation at \(part.name)")
            }
            probe.expect(!told.isEmpty, "no vendor was told of the exposure")
            probe.expect(told.values.allSatisfy { $0 == 1 }, "exposures by vendor: \(told)")
        },
        several(
            "composition/who-answered",
            4,
            "Each flag and assignment names the vendor that gave it",
            requires: [.flags, .flagMetadata]
        ) { probe in
            let deciders = try await probe.deciders()
            let session = try await probe.readySession()
            for flag in probe.world.flags {
                let owner = try probe.unwrap(
                    deciders.first { $0.world.flag(flag.key) != nil },
                    "a vendor that holds \(flag.key)"
                )
                let provider = session.seen(flag).provider
                probe.expect(provider, equals: .string(owner.name), "who answered \(flag.key)")
            }
            for assignment in session.assignments {
                let name = assignment.metadata["provider"]?.stringValue
                probe.expect(deciders.contains { $0.name == name }, "who assigned: \(name ?? "nobody")")
            }
        },
        several(
            "composition/one-decider-away",
            5,
            "A deciding vendor that is unreachable keeps its last good values as STALE; the others are still asked",
            requires: [.flags]
        ) { probe in
            let deciders = try await probe.deciders(atLeast: 2)
            let session = try await probe.readySession()
            let values = session.values(of: probe.world)
            for away in deciders {
                try await away.stage.setReachable(false)
                // Rules that are still valid need no answer.
                probe.push(.seconds(3_600))
                let failure = await probe.refresh(session)
                probe.expect(
                    failure == nil,
                    "a refresh that one vendor answers succeeds: \(String(describing: failure))"
                )
                probe.expect(session.values(of: probe.world), equals: values, "the values without \(away.name)")
                for flag in probe.world.flags {
                    let isAway = away.world.flag(flag.key) != nil
                    let reason = session.seen(flag).reason
                    probe.expect((reason == .stale) == isAway, "\(flag.key) says \(reason) without \(away.name)")
                }
                try await away.stage.setReachable(true)
                await probe.refreshAnew(session)
            }
        },
        several(
            "composition/one-kill-switch",
            19,
            "A vendor's kill switch affects only its own flags and deliveries",
            requires: [.flags]
        ) { probe in
            let deciders = try await probe.deciders(atLeast: 2)
            guard let off = deciders.first(where: { $0.subject.capabilities.contains(.killSwitch) }) else {
                throw CaseDoesNotApply("none of its vendors has a kill switch")
            }
            let session = try await probe.readySession()
            probe.note("\(off.name)'s kill switch is turned on")
            try await off.stage.setKillSwitch(true)
            await probe.refresh(session)
            for flag in probe.world.flags {
                let isOff = off.world.flag(flag.key) != nil
                let reason = session.seen(flag).reason
                probe.expect((reason == .disabled) == isOff, "\(flag.key) says \(reason)")
            }
            probe.expect(try await probe.client().status != .disabled, "the whole isn't off")
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverToWhoeverIsThere()
            for part in probe.stage.parts where part.takesEvents {
                let marks = try await part.marks()
                probe.expect(marks, equals: part.name == off.name ? [] : [1], "what \(part.name) has")
            }
            try await off.stage.setKillSwitch(false)
            await probe.refreshAnew(session)
            try await probe.deliverEverywhere()
            for part in probe.stage.parts where part.takesEvents {
                probe.expect(try await part.marks(), equals: [1], "what \(part.name) has at last")
            }
        },
        several(
            "composition/a-denial-covers-all",
            16,
            "When consent is withdrawn, events waiting for any vendor are deleted and counted there as purged"
        ) { probe in
            let takers = try await probe.takers()
            for part in takers { try await part.stage.setReachable(false) }
            let session = try await probe.session()
            try await probe.trackMarks(1...3, in: session)
            _ = try await probe.flush(within: .milliseconds(300))
            try await session.setConsent(.denied)
            for part in takers {
                let book = try await part.ledger(probe.client())
                probe.expect(book.purged, equals: 3, "purged for \(part.name)")
            }
            let event = try await probe.event(4)
            await probe.expectError("track", .consentDenied) { try await session.track(event) }
            for part in takers { try await part.stage.setReachable(true) }
            probe.push(.seconds(3_600))
            try await probe.deliverEverywhere()
            for part in takers {
                probe.expect(try await part.marks(), equals: [], "what \(part.name) has")
                let signals = try await part.received().filter { $0.type == "consentChanged" }.map(\.isGranted)
                let isTold = part.subject.capabilities.contains(.consentSignal)
                probe.expect(signals, equals: isTold ? [false] : [], "the signals to \(part.name)")
            }
        },
        several(
            "composition/a-link-covers-all",
            17,
            "A link reaches every vendor that links, and every vendor gets the known user's events"
        ) { probe in
            let takers = try await probe.takers()
            let linking = probe.stage.parts.filter { $0.subject.capabilities.contains(.identityLinking) }
            guard !linking.isEmpty else { throw CaseDoesNotApply("none of its vendors links in steps") }
            let session = try await probe.session(for: User(id: "guest-1", consent: .granted))
            let known = Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true)
            try await linking[0].stage.setReachable(false)
            await probe.expectError("link") {
                try await session.link(to: known, criteria: ["email": "ada@example.com"])
            }
            try await linking[0].stage.setReachable(true)
            probe.push(.seconds(60))
            let identity = try await session.link(to: known, criteria: ["email": "ada@example.com"])
            probe.expect(session.user.identity, equals: identity, "the session's ids")
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverEverywhere()
            for part in linking {
                let told = try await part.received().filter { $0.type == "identity" }
                probe.expect(told.contains { $0.userID == identity.id }, "\(part.name) was told of \(identity.id)")
            }
            for part in takers where part.subject.wireFields.contains(.userID) {
                let users = try await part.received().filter { Probe.mark($0) == 1 }.map(\.userID)
                probe.expect(users, equals: [identity.id], "whose event \(part.name) has")
            }
        },
    ]
}

extension UserSession {
    /// What a read of a flag shows, by the call for its type.
    fileprivate func seen(_ flag: World.Flag) -> (value: FlagValue, reason: Reason, provider: FlagValue?) {
        func told<Value>(
            _ details: EvaluationDetails<Value>,
            _ value: (Value) -> FlagValue
        ) -> (FlagValue, Reason, FlagValue?) {
            (value(details.value), details.reason, details.metadata["provider"])
        }
        return switch flag.type {
        case .bool: told(details(flag.key, default: false)) { .bool($0) }
        case .int: told(details(flag.key, default: 0)) { .int($0) }
        case .double: told(details(flag.key, default: 0.0)) { .double($0) }
        case .string: told(details(flag.key, default: "")) { .string($0) }
        case .object, .array: told(details(flag.key, default: FlagValue.null)) { $0 }
        }
    }

    /// The values of a world's flags as they are read here.
    fileprivate func values(of world: World) -> [String: FlagValue] {
        Dictionary(uniqueKeysWithValues: world.flags.map { ($0.key, seen($0).value) })
    }
}
