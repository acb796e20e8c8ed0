import Experimentation

extension ConformanceCase {
    /// Promises 3, 4, 6 and 7: snapshots, reasons, malformed flags, coalescing.
    static let snapshots: [ConformanceCase] = [
        ConformanceCase(
            "snapshots/users-are-kept-apart",
            promise: 3,
            "Two users of one client read their own decisions",
            requires: [.flags, .targeting],
            needs: ["flags/support", "flags/adult"],
            probes: .targeting,
            world: .targeted
        ) { probe in
            let ada = try await probe.readySession(for: .ada)
            let ben = try await probe.readySession(for: .ben)
            probe.expect(ada.string("support", default: "?"), equals: "phone", "ada, on the plan pro")
            probe.expect(ben.string("support", default: "?"), equals: "mail", "ben, on the plan free")
            probe.expect(ada.bool("adult", default: false), equals: true, "ada is 36")
            probe.expect(ben.bool("adult", default: true), equals: false, "ben is 17")
        },
        ConformanceCase(
            "snapshots/another-refresh-changes-nothing-here",
            promise: 3,
            "Refreshing one session doesn't affect another user's",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let ada = try await probe.readySession(for: .ada)
            let ben = try await probe.readySession(for: .ben)
            for _ in 0..<3 { await probe.refresh(ben) }
            probe.expect(ada.string("support", default: "?"), equals: "phone", "ada afterwards")
        },
        ConformanceCase(
            "snapshots/replaced-whole",
            promise: 3,
            "A refresh adds new flags and removes deleted ones",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            let held = session.decisions
            try await probe.change { $0.flags = [.init("farewell", "Bye!")] }
            await probe.refresh(session)
            probe.expect(session.string("farewell", default: "x"), equals: "Bye!", "the new flag")
            probe.expect(session.details("welcome", default: "x").errorCode, equals: .flagNotFound, "the old flag")
            probe.expect(held["welcome"]?.value, equals: "Hello!", "decisions held from before")
        },
        ConformanceCase(
            "snapshots/changed-value",
            promise: 3,
            "A changed value is read after the refresh and not before, unless the vendor announces changes",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            try await probe.change { $0.flags = [.init("welcome", "Good day!")] }
            // A client that is notified of the change may have asked already.
            if try await probe.roles().changes == nil {
                probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "before the refresh")
            }
            await probe.refresh(session)
            probe.expect(session.string("welcome", default: "x"), equals: "Good day!", "after the refresh")
        },
        ConformanceCase(
            "snapshots/attributes-count-at-refresh",
            promise: 3,
            "A changed attribute takes effect with the next refresh",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let session = try await probe.readySession(for: .ben)
            try session.update(["plan": "pro"])
            probe.expect(session.string("support", default: "?"), equals: "mail", "before the refresh")
            await probe.refresh(session)
            probe.expect(session.string("support", default: "?"), equals: "phone", "after the refresh")
        },
        ConformanceCase(
            "snapshots/removed-attribute",
            promise: 3,
            "A removed attribute no longer affects decisions",
            requires: [.flags, .targeting],
            needs: ["flags/support"],
            world: .targeted
        ) { probe in
            let session = try await probe.readySession(for: .ada)
            try session.update(["plan": .null])
            await probe.refresh(session)
            probe.expect(session.string("support", default: "?"), equals: "mail", "without a plan")
        },
        ConformanceCase(
            "snapshots/second-session-of-a-user",
            promise: 3,
            "A second session of the same user gets the same decisions",
            requires: [.flags, .experiments],
            needs: ["flags/checkout-color", "experiments/checkout"],
            world: .split
        ) { probe in
            let one = try await probe.readySession()
            let other = try await probe.readySession()
            let first = one.string("checkout-color", default: "?")
            probe.expect(other.string("checkout-color", default: "??"), equals: first, "the other session")
        },
        ConformanceCase(
            "reasons/no-error-on-success",
            promise: 4,
            "A resolved value has a reason other than ERROR, no code and no message",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let details = try await probe.readySession().details("welcome", default: "x")
            probe.expect(details.flagKey, equals: "welcome", "the key")
            probe.expect(details.value, equals: "Hello!", "the value")
            probe.expect(details.reason != .error && !details.reason.rawValue.isEmpty, "the reason: \(details.reason)")
            probe.expect(details.errorCode, equals: nil, "the code")
            probe.expect(details.errorMessage, equals: nil, "the message")
        },
        ConformanceCase(
            "reasons/message-with-every-error",
            promise: 4,
            "Every error has a human-readable message",
            requires: [.flags],
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let details = try await probe.readySession().details("no-such-flag-7c1", default: "x")
            probe.expect(!(details.errorMessage ?? "").isEmpty, "the message: \(details.errorMessage ?? "none")")
            probe.expect(details.variant, equals: nil, "the variant of a default")
        },
        ConformanceCase(
            "reasons/fresh-is-not-stale",
            promise: 4,
            "A fresh answer is neither STALE nor CACHED, and has no age",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let details = try await probe.readySession().details("welcome", default: "x")
            probe.expect(details.reason != .stale && details.reason != .cached, "the reason: \(details.reason)")
            probe.expect(details.age == nil, "the age: \(String(describing: details.age))")
        },
        ConformanceCase(
            "reasons/variant-of-an-experiment",
            promise: 4,
            "A value from an experiment names its variant, a different one for each variation",
            requires: [.flags, .experiments, .flagMetadata],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: .forced
        ) { probe in
            let ada = try await probe.readySession(for: .ada).details("checkout-color", default: "?")
            let ben = try await probe.readySession(for: .ben).details("checkout-color", default: "?")
            probe.expect(ada.variant != nil && ben.variant != nil, "both need a variant")
            probe.expect(ada.variant != ben.variant, "the variants must differ: \(ada.variant ?? "none")")
        },
        ConformanceCase(
            "reasons/value-and-details-agree",
            promise: 4,
            "A plain read and a read with details give the same value",
            requires: [.flags],
            needs: ["flags/on", "flags/seven", "flags/half", "flags/word"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.details("on", default: false).value, equals: session.bool("on", default: false), "on")
            probe.expect(session.details("seven", default: 0).value, equals: session.int("seven", default: 0), "seven")
            probe.expect(
                session.details("half", default: 0.1).value,
                equals: session.double("half", default: 0.1),
                "half"
            )
            probe.expect(
                session.details("word", default: "").value,
                equals: session.string("word", default: ""),
                "word"
            )
        },
        ConformanceCase(
            "reasons/switched-off-flag",
            promise: 4,
            "A disabled flag doesn't give its value",
            requires: [.flags],
            needs: ["flags/off-duty/disabled"],
            world: World(
                name: "switched-off",
                flags: [.init("off-duty", "wrong", isDisabled: true), .init("on-duty", "right")],
                users: [.ada]
            )
        ) { probe in
            let session = try await probe.readySession()
            let details = session.details("off-duty", default: "default")
            probe.expect(details.value, equals: "default", "the value")
            probe.expect(
                details.reason == .disabled || details.errorCode == .flagNotFound,
                "the reason: \(details.reason)"
            )
            probe.expect(session.string("on-duty", default: "x"), equals: "right", "its neighbour")
        },
        ConformanceCase(
            "malformed/neighbours-are-read",
            promise: 6,
            "A malformed flag hides neither the one before it nor the one after it",
            requires: [.flags],
            needs: ["flags/before", "flags/broken", "flags/after"],
            world: .oneBrokenFlag
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.string("before", default: "x"), equals: "ok", "before")
            probe.expect(session.string("after", default: "x"), equals: "ok", "after")
        },
        ConformanceCase(
            "malformed/says-so",
            promise: 6,
            "The malformed flag gives the default, with a code",
            requires: [.flags],
            needs: ["flags/broken"],
            world: .oneBrokenFlag
        ) { probe in
            let details = try await probe.readySession().details("broken", default: "default")
            probe.expect(details.value, equals: "default", "the value")
            probe.expect(details.reason, equals: .error, "the reason")
            probe.expect(
                [.parseError, .typeMismatch, .flagNotFound].contains(details.errorCode),
                "the code: \(String(describing: details.errorCode))"
            )
        },
        ConformanceCase(
            "malformed/unknown-operator",
            promise: 6,
            "A rule with an unknown operator never matches",
            requires: [.flags, .targeting],
            needs: ["flags/odd"],
            world: .targeted
        ) { probe in
            let session = try await probe.readySession(for: .ada)
            let details = session.details("odd", default: "?")
            probe.expect(details.value, equals: "usual", "the value")
            probe.expect(details.errorCode, equals: nil, "the code")
            probe.expect(session.string("support", default: "?"), equals: "phone", "its neighbour")
        },
        ConformanceCase(
            "malformed/attribute-of-another-type",
            promise: 6,
            "A rule about a number doesn't match a string, and causes no error",
            requires: [.flags, .targeting],
            needs: ["flags/adult"],
            world: .targeted
        ) { probe in
            let session = try await probe.readySession(
                for: User(id: "eve", attributes: ["age": "old enough", "plan": "free"], consent: .granted)
            )
            let details = session.details("adult", default: true)
            probe.expect(details.value, equals: false, "the value")
            probe.expect(details.errorCode, equals: nil, "the code")
        },
        ConformanceCase(
            "coalescing/one-request",
            promise: 7,
            "Twenty concurrent refreshes of one user are one request",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag,
            faults: [WorldFault(.delay(milliseconds: 500), on: .decisions, times: nil)]
        ) { probe in
            let before = try await probe.requestsAtStart()
            let session = try await probe.session()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { await probe.refresh(session) } }
            }
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value")
            let requests = before + probe.deciderCount
            probe.expect(try await probe.exchanges(.decisions).count, equals: requests, "requests for decisions")
        },
        ConformanceCase(
            "coalescing/sessions-of-one-user",
            promise: 7,
            "Concurrent refreshes of several sessions of one user are one request",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag,
            faults: [WorldFault(.delay(milliseconds: 500), on: .decisions, times: nil)]
        ) { probe in
            let before = try await probe.requestsAtStart()
            var sessions: [UserSession] = []
            for _ in 0..<5 { sessions.append(try await probe.session()) }
            await withTaskGroup(of: Void.self) { group in
                for session in sessions { group.addTask { await probe.refresh(session) } }
            }
            for session in sessions {
                probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value")
            }
            let requests = before + probe.deciderCount
            probe.expect(try await probe.exchanges(.decisions).count, equals: requests, "requests for decisions")
        },
        ConformanceCase(
            "coalescing/a-caller-may-leave",
            promise: 7,
            "A cancelled caller doesn't end the others' refresh",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag,
            faults: [WorldFault(.delay(milliseconds: 200), on: .decisions, times: nil)]
        ) { probe in
            let session = try await probe.session()
            let leaver = Task { await probe.refresh(session) }
            let stayer = Task { await probe.refresh(session) }
            try await probe.eventually("the vendor is asked") { try await !probe.exchanges(.decisions).isEmpty }
            leaver.cancel()
            let error = await stayer.value
            probe.expect(error == nil, "the other caller's refresh: \(String(describing: error))")
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the value")
            _ = await leaver.value
        },
        ConformanceCase(
            "coalescing/a-later-refresh-asks-again",
            promise: 7,
            "A refresh that begins after another has ended sends a request of its own",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            let before = try await probe.exchanges(.decisions).count
            await probe.refresh(session)
            let requests = before + probe.deciderCount
            probe.expect(try await probe.exchanges(.decisions).count, equals: requests, "requests for decisions")
        },
    ]
}
