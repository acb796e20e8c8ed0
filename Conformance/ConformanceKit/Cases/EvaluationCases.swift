import Experimentation

extension ConformanceCase {
    /// Promise 1: reading never throws, blocks or crashes; what can't be answered is the default with an error code.
    static let evaluation: [ConformanceCase] = [
        ConformanceCase(
            "evaluation/boolean-values",
            promise: 1,
            "True and false are read as they are",
            requires: [.flags],
            needs: ["flags/on", "flags/off"],
            probes: .flags,
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.bool("on", default: false), equals: true, "on")
            probe.expect(session.bool("off", default: true), equals: false, "off")
        },
        ConformanceCase(
            "evaluation/whole-numbers",
            promise: 1,
            "Integers are read exactly: zero, negative, and up to JavaScript's largest safe integer",
            requires: [.flags],
            needs: ["flags/seven", "flags/zero", "flags/minus", "flags/large"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.int("seven", default: 1), equals: 7, "seven")
            probe.expect(session.int("zero", default: 1), equals: 0, "zero")
            probe.expect(session.int("minus", default: 1), equals: -3, "minus")
            probe.expect(session.int("large", default: 1), equals: 9_007_199_254_740_991, "large")
        },
        ConformanceCase(
            "evaluation/fractions",
            promise: 1,
            "Decimal numbers are read without loss of precision",
            requires: [.flags],
            needs: ["flags/half", "flags/tiny"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.double("half", default: 9), equals: 0.5, "half")
            probe.expect(session.double("tiny", default: 9), equals: 1e-9, "tiny")
        },
        ConformanceCase(
            "evaluation/texts",
            promise: 1,
            "Strings are read unchanged, in every script",
            requires: [.flags],
            needs: ["flags/word", "flags/umlaut"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.string("word", default: "?"), equals: "tea", "word")
            probe.expect(session.string("umlaut", default: "?"), equals: "Größe 🫖", "umlaut")
        },
        ConformanceCase(
            "evaluation/empty-text",
            promise: 1,
            "An empty string is a value, not the default",
            requires: [.flags],
            needs: ["flags/empty"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.string("empty", default: "default"), equals: "", "empty")
        },
        ConformanceCase(
            "evaluation/objects",
            promise: 1,
            "Objects are read with all their members",
            requires: [.flags, .objectFlags],
            needs: ["flags/object"],
            probes: .objectFlags,
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.object("object", default: [:]), equals: ["a": 1, "b": ["c": true]], "object")
        },
        ConformanceCase(
            "evaluation/lists",
            promise: 1,
            "Lists keep their order",
            requires: [.flags, .objectFlags],
            needs: ["flags/list"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.object("list", default: []), equals: [1, 2, 3], "list")
        },
        ConformanceCase(
            "evaluation/missing-flag",
            promise: 1,
            "A missing flag gives the default of each type, with FLAG_NOT_FOUND",
            requires: [.flags],
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            let key = "no-such-flag-7c1"
            let bool = session.details(key, default: true)
            probe.expect(bool.value, equals: true, "the Boolean default")
            probe.expect(bool.errorCode, equals: .flagNotFound, "the code")
            probe.expect(bool.reason, equals: .error, "the reason")
            probe.expect(session.details(key, default: 3).value, equals: 3, "the default number")
            probe.expect(session.details(key, default: 0.25).value, equals: 0.25, "the default fraction")
            probe.expect(session.details(key, default: "x").value, equals: "x", "the default text")
            let object: FlagValue = ["k": [1, nil]]
            probe.expect(session.details(key, default: object).value, equals: object, "the default object")
        },
        ConformanceCase(
            "evaluation/odd-keys",
            promise: 1,
            "Empty, very long and odd keys are missing flags",
            requires: [.flags],
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            for key in ["", " ", "\u{0}", "../../etc", "🫖", String(repeating: "k", count: 10_000)] {
                let details = session.details(key, default: "x")
                probe.expect(details.value, equals: "x", "the key of \(key.utf8.count) bytes")
                probe.expect(details.errorCode, equals: .flagNotFound, "the code of the key of \(key.utf8.count) bytes")
            }
        },
        ConformanceCase(
            "evaluation/keys-are-exact",
            promise: 1,
            "Keys are compared exactly, including case and spaces",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            probe.expect(session.string("Welcome", default: "x"), equals: "x", "another case")
            probe.expect(session.string("welcome ", default: "x"), equals: "x", "a blank behind it")
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "the key itself")
        },
        ConformanceCase(
            "evaluation/not-ready",
            promise: 1,
            "Before the first decisions, every read gives the default, with PROVIDER_NOT_READY",
            requires: [.flags],
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let session = try await probe.session()
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.errorCode, equals: .providerNotReady, "the code")
            probe.expect(details.reason, equals: .error, "the reason")
        },
        ConformanceCase(
            "evaluation/vendor-away-from-the-start",
            promise: 1,
            "If the vendor has never been reachable, a refresh reports it and reads give the default",
            requires: [.flags],
            world: .oneFlag
        ) { probe in
            try await probe.setReachable(false)
            let session = try await probe.session()
            let error = await probe.refresh(session)
            probe.expect(error != nil, "refresh must say that there are no decisions")
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.reason, equals: .error, "the reason")
            probe.expect(
                details.errorCode == .providerNotReady || details.errorCode == .general,
                "the code: \(String(describing: details.errorCode))"
            )
        },
        ConformanceCase(
            "evaluation/user-without-id",
            promise: 1,
            "A user without an id is rejected with TARGETING_KEY_MISSING, without a request to the vendor",
            requires: [.flags],
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let before = try await probe.requestsAtStart()
            let session = try await probe.session(for: User(id: "", consent: .granted))
            await probe.expectError("refresh", .targetingKeyMissing, .invalidContext) { try await session.refresh() }
            probe.expect(session.string("welcome", default: "x"), equals: "x", "the value")
            let requests = try await probe.exchanges(.decisions).count
            probe.expect(requests, equals: before, "requests for decisions")
        },
        ConformanceCase(
            "evaluation/attributes-not-finite",
            promise: 1,
            "A non-finite number as an attribute is rejected with INVALID_CONTEXT and changes nothing",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            for value in [Double.nan, .infinity, -.infinity] {
                await probe.expectError("an attribute of \(value)", .invalidContext) {
                    try session.update(["age": .double(value)])
                }
            }
            probe.expect(session.user.attributes["age"], equals: 36, "the attribute afterwards")
            probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "reading afterwards")
        },
        ConformanceCase(
            "evaluation/attributes-too-deep",
            promise: 1,
            "An attribute nested ten thousand levels deep is rejected with INVALID_CONTEXT and doesn't crash",
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let session = try await probe.session()
            var deep: FlagValue = 1
            for _ in 0..<10_000 { deep = .array([deep]) }
            let value = deep
            await probe.expectError("the attribute", .invalidContext) { try session.update(["deep": value]) }
            probe.expect(session.user.attributes["deep"] == nil, "the attribute must not be kept")
            // Dismantled level by level: releasing it at once recurses and could overflow the stack.
            while case .array(let inner) = deep { deep = inner.first ?? .null }
        },
        ConformanceCase(
            "evaluation/reading-stays-here",
            promise: 1,
            "A thousand reads send no request for decisions",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            let before = try await probe.exchanges(.decisions).count
            for _ in 0..<1_000 { _ = session.details("welcome", default: "x") }
            let after = try await probe.exchanges(.decisions).count
            probe.expect(after, equals: before, "requests for decisions")
        },
        ConformanceCase(
            "evaluation/reading-never-waits",
            promise: 1,
            "While the vendor stalls, reads return the last good value immediately",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            let session = try await probe.readySession()
            try await probe.inject(WorldFault(.stall, on: .decisions, times: nil))
            let before = try await probe.exchanges(.decisions).count
            let refreshing = Task { await probe.refresh(session) }
            try await probe.eventually("the vendor is asked") {
                try await probe.exchanges(.decisions).count > before
            }
            let value = await probe.timely(within: .zero, "the read") { session.string("welcome", default: "x") }
            probe.expect(value, equals: "Hello!", "the value meanwhile")
            probe.push(.seconds(120))
            try await probe.stage.clearFaults()
            refreshing.cancel()
            _ = await refreshing.value
        },
        ConformanceCase(
            "evaluation/reading-from-many-tasks",
            promise: 1,
            "Concurrent reads during refreshes never return a torn value",
            requires: [.flags],
            needs: ["flags/word", "flags/seven"],
            world: .everyType
        ) { probe in
            let session = try await probe.readySession()
            let wrong = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        var wrong = 0
                        for _ in 0..<500 {
                            if session.string("word", default: "x") != "tea" { wrong += 1 }
                            if session.int("seven", default: 0) != 7 { wrong += 1 }
                        }
                        return wrong
                    }
                }
                group.addTask {
                    for _ in 0..<5 { _ = await probe.refresh(session) }
                    return 0
                }
                return await group.reduce(0, +)
            }
            probe.expect(wrong, equals: 0, "reads that gave something else")
        },
        ConformanceCase(
            "evaluation/roles-are-honest",
            promise: 1,
            "A vendor without decisions reports UNSUPPORTED; one that declares flags gives decisions",
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let session = try await probe.session()
            guard !probe.subject.capabilities.contains(.flags), !probe.subject.capabilities.contains(.experiments)
            else {
                _ = try await probe.readySession()
                probe.expect(session.status != .fatal, "the session's status")
                return
            }
            await probe.expectError("refresh", .unsupported) { try await session.refresh() }
            let details = session.details("welcome", default: "x")
            probe.expect(details.value, equals: "x", "the value")
            probe.expect(details.reason, equals: .error, "the reason")
            probe.expect(details.errorCode != nil, "a read that can't be answered needs a code")
        },
        ConformanceCase(
            "evaluation/declared-capabilities",
            promise: 1,
            "The provider's declared capabilities match its subject's, and its roles",
            isSafeLive: true,
            world: .empty
        ) { probe in
            let provider = try await probe.provider()
            // A provider of several vendors may declare those of the others as well.
            let others = probe.subject.capabilitiesOfOthers
            probe.expect(
                provider.capabilities.subtracting(others),
                equals: probe.subject.capabilities.subtracting(others),
                "the capabilities"
            )
            let roles = try await probe.roles()
            // A role may also belong to another vendor behind this one.
            let all = provider.capabilities.union(probe.subject.capabilitiesOfOthers)
            func declares(_ these: Capability...) -> Bool { !all.isDisjoint(with: these) }
            probe.expect(declares(.flags, .experiments), equals: roles.decisions != nil, "decisions and their role")
            probe.expect(
                declares(.tracking, .exposures, .consentSignal),
                equals: roles.takesEvents,
                "events and their role"
            )
            probe.expect(declares(.identityLinking), equals: roles.identity != nil, "linking and its role")
            probe.expect(declares(.campaigns), equals: roles.campaigns != nil, "campaigns and their role")
            if provider.capabilities.contains(.tracking) {
                let silent = Received.Field.allCases.filter {
                    !probe.subject.wireFields.contains($0) && probe.subject.reason(forUntold: $0) == nil
                }
                probe.expect(silent, equals: [], "fields that are lost on the wire without a reason")
            }
            probe.expect(
                !provider.name.isEmpty && provider.name == provider.name.lowercased(),
                "the name: \(provider.name)"
            )
        },
    ]
}
