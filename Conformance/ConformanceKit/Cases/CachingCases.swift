import Experimentation

extension ConformanceCase {
    /// Promise 5: the last good decisions outlive any bad answer, marked as stale and with their age.
    static let caching: [ConformanceCase] =
        outliving + firstAnswers + [
            ConformanceCase(
                "caching/outlives-a-vendor-that-went-away",
                promise: 5,
                "When the vendor becomes unreachable, the last good value is read as STALE",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                let session = try await probe.readySession()
                try await probe.setReachable(false)
                let error = await probe.refresh(session)
                probe.expect(error != nil, "refresh must say that there is nothing new")
                expectStale(session, probe)
            },
            ConformanceCase(
                "caching/age-grows",
                promise: 5,
                "The age of a stale value is how long ago it was good",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                let session = try await probe.readySession()
                try await probe.setReachable(false)
                probe.push(.seconds(3_600))
                await probe.refresh(session)
                let age = session.details("welcome", default: "x").age
                probe.expect(
                    age.map { $0 >= .seconds(3_600) && $0 < .seconds(3_660) } ?? false,
                    "the age: \(String(describing: age))"
                )
            },
            ConformanceCase(
                "caching/recovers",
                promise: 5,
                "The first good answer after bad ones ends STALE and brings the new value",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                let session = try await probe.readySession()
                try await probe.inject(WorldFault(.status(503), on: .decisions, times: nil))
                await probe.refresh(session)
                try await probe.stage.clearFaults()
                try await probe.change { $0.flags = [.init("welcome", "Good day!")] }
                probe.push(.seconds(60))
                let error = await probe.refresh(session)
                probe.expect(error == nil, "the good refresh: \(String(describing: error))")
                let details = session.details("welcome", default: "x")
                probe.expect(details.value, equals: "Good day!", "the value")
                probe.expect(details.reason != .stale && details.age == nil, "the reason: \(details.reason)")
            },
            ConformanceCase(
                "caching/stale-hides-no-missing-flag",
                promise: 5,
                "A flag that was never there is FLAG_NOT_FOUND also in stale decisions",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                let session = try await probe.readySession()
                try await probe.setReachable(false)
                await probe.refresh(session)
                let code = session.details("no-such-flag-7c1", default: "x").errorCode
                probe.expect(code, equals: .flagNotFound, "the code")
            },
            ConformanceCase(
                "caching/stale-by-choice-is-not-ready",
                promise: 5,
                "An application that refuses expired values gets the default, with PROVIDER_NOT_READY",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: World(name: "short-lived", flags: [.init("welcome", "Hello!")], users: [.ada], lifetime: 60)
            ) { probe in
                _ = try await probe.client(ClientOptions(afterExpiry: .notReady))
                guard let lifetime = try await probe.lifetime() else {
                    throw CaseDoesNotApply("\(probe.subject.name)'s decisions have no lifetime")
                }
                let session = try await probe.readySession()
                // A client that polls would have a fresh value by then.
                try await probe.setReachable(false)
                probe.push(lifetime + .seconds(60))
                let details = session.details("welcome", default: "x")
                probe.expect(details.value, equals: "x", "the value")
                probe.expect(details.errorCode, equals: .providerNotReady, "the code")
            },
            ConformanceCase(
                "caching/no-request-within-the-lifetime",
                promise: 5,
                "Valid decisions aren't requested again; expired ones are",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: World(name: "long-lived", flags: [.init("welcome", "Hello!")], users: [.ada], lifetime: 600)
            ) { probe in
                guard let lifetime = try await probe.lifetime(), lifetime > .zero else {
                    throw CaseDoesNotApply("\(probe.subject.name)'s decisions have no lifetime")
                }
                let session = try await probe.readySession()
                let first = try await probe.exchanges(.decisions).count
                await probe.refresh(session, force: false)
                probe.expect(try await probe.exchanges(.decisions).count, equals: first, "requests while they are good")
                probe.push(lifetime + .seconds(60))
                await probe.refresh(session, force: false)
                probe.expect(
                    try await probe.exchanges(.decisions).count > first,
                    "overdue decisions must be asked for again"
                )
            },
            ConformanceCase(
                "caching/offline-start",
                promise: 5,
                "After a restart with the vendor unreachable, the previous run's decisions are read, as CACHED or STALE",
                requires: [.flags, .offlineStart],
                needs: ["flags/welcome"],
                probes: .offlineStart,
                world: .oneFlag
            ) { probe in
                _ = try await probe.readySession()
                try await probe.setReachable(false)
                try await probe.restart()
                let session = try await probe.session()
                await probe.refresh(session)
                let details = session.details("welcome", default: "x")
                probe.expect(details.value, equals: "Hello!", "the value")
                probe.expect([.cached, .stale].contains(details.reason), "the reason: \(details.reason)")
                probe.expect(details.age != nil, "a cached value needs an age")
            },
            ConformanceCase(
                "caching/offline-start-after-a-kill",
                promise: 5,
                "Decisions survive a kill as well as a shutdown",
                requires: [.flags, .offlineStart],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                _ = try await probe.readySession()
                try await probe.setReachable(false)
                try await probe.kill()
                let session = try await probe.session()
                await probe.refresh(session)
                probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value")
            },
            ConformanceCase(
                "caching/not-another-users",
                promise: 5,
                "With the vendor unreachable, no user gets another user's stored decisions",
                requires: [.flags, .targeting, .offlineStart],
                needs: ["flags/support"],
                world: .targeted
            ) { probe in
                _ = try await probe.readySession(for: .ada)
                try await probe.setReachable(false)
                try await probe.restart()
                let ben = try await probe.session(for: .ben)
                await probe.refresh(ben)
                let value = ben.string("support", default: "none")
                probe.expect(value != "phone", "ben must not get what was decided for ada")
            },
            ConformanceCase(
                "caching/cached-becomes-fresh",
                promise: 5,
                "The first good answer after an offline start replaces the cached decisions",
                requires: [.flags, .offlineStart],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                _ = try await probe.readySession()
                try await probe.setReachable(false)
                try await probe.restart()
                let session = try await probe.session()
                await probe.refresh(session)
                try await probe.setReachable(true)
                try await probe.change { $0.flags = [.init("welcome", "Good day!")] }
                probe.push(.seconds(3_600))
                await probe.refresh(session)
                let details = session.details("welcome", default: "x")
                probe.expect(details.value, equals: "Good day!", "the value")
                probe.expect(![.cached, .stale].contains(details.reason), "the reason: \(details.reason)")
            },
        ]

    /// The ways in which an answer can be bad, with a name for each.
    static let badAnswers: [(name: String, words: String, kind: WorldFault.Kind)] = [
        ("a-500", "a failing vendor (500)", .status(500)),
        ("a-503", "an overloaded vendor (503)", .status(503, retryAfter: 1)),
        ("a-429", "a throttling vendor (429)", .status(429, retryAfter: 1)),
        ("a-404", "a missing endpoint (404)", .status(404)),
        ("a-401", "an expired credential (401)", .status(401)),
        ("a-reset", "a connection reset", .reset),
        ("a-truncated-answer", "a truncated answer", .truncate),
        ("a-short-answer", "an answer shorter than its announced length", .wrongLength),
        ("garbage", "garbage", .garbage),
        ("a-login-page", "a captive portal's page with status 200", .html200),
        ("a-redirect", "a redirect", .redirect),
        ("a-failure-with-200", "a failure reported with status 200", .vendorFailure200),
        ("a-flood", "an endless answer", .oversized),
    ]

    private static let outliving: [ConformanceCase] =
        badAnswers.map { bad in
            ConformanceCase(
                "caching/outlives-\(bad.name)",
                promise: 5,
                "After \(bad.words), the last good value is read as STALE with its age",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag
            ) { probe in
                let session = try await probe.readySession()
                try await probe.inject(WorldFault(bad.kind, on: .decisions, times: nil))
                let error = await probe.refresh(session)
                probe.expect(error != nil, "refresh must say that there is nothing new")
                expectStale(session, probe)
            }
        }
        + [
            ConformanceCase(
                "caching/outlives-a-stall",
                promise: 5,
                "A request without an answer ends by its deadline, and the last good value is read as STALE",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: World.oneFlag.changing { $0.patience = .seconds(2) }
            ) { probe in
                let session = try await probe.readySession()
                try await probe.inject(WorldFault(.stall, on: .decisions, times: nil))
                let error = await probe.refresh(session)
                probe.expect(error != nil, "refresh must say that there is nothing new")
                expectStale(session, probe)
            }
        ]

    private static let firstAnswers: [ConformanceCase] =
        badAnswers.filter {
            ["a-500", "a-truncated-answer", "garbage", "a-login-page", "a-redirect", "a-401"].contains($0.name)
        }
        .map { bad in
            ConformanceCase(
                "failures/first-answer-is-\(bad.name)",
                promise: 1,
                "\(bad.words.prefix(1).uppercased() + bad.words.dropFirst()) as the first answer gives the default and an error; a good answer recovers",
                requires: [.flags],
                needs: ["flags/welcome"],
                world: .oneFlag,
                faults: [WorldFault(bad.kind, on: .decisions, times: nil)]
            ) { probe in
                let session = try await probe.session()
                let error = await probe.refresh(session)
                probe.expect(error != nil, "refresh must say that there are no decisions")
                let details = session.details("welcome", default: "x")
                probe.expect(details.value, equals: "x", "the value")
                probe.expect(details.reason, equals: .error, "the reason")
                try await probe.stage.clearFaults()
                probe.push(.seconds(3_600))
                await probe.refresh(session)
                probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value after a good answer")
            }
        }

    private static func expectStale(_ session: UserSession, _ probe: Probe, file: String = #fileID, line: Int = #line) {
        let details = session.details("welcome", default: "x")
        probe.expect(details.value, equals: "Hello!", "the value", file: file, line: line)
        probe.expect(details.reason, equals: .stale, "the reason", file: file, line: line)
        probe.expect(details.errorCode, equals: nil, "the code", file: file, line: line)
        probe.expect(details.age != nil, "a stale value needs an age", file: file, line: line)
    }
}

extension Probe {
    /// How long this vendor's decisions are valid; `nil` if it makes no decisions or states no lifetime.
    public func lifetime() async throws -> Duration? {
        switch try await roles().decisions {
        case .asked(let source): source.freshness.lifetime
        case .computed(let source): source.freshness.lifetime
        case nil: nil
        }
    }
}
