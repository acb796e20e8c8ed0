import Experimentation

extension ConformanceCase {
    /// Promise 20: secrets and personal data appear in no log, error or dump.
    static let privacy: [ConformanceCase] = [
        ConformanceCase(
            "privacy/no-secrets-in-dumps",
            promise: 20,
            "Printing or dumping the provider shows no secret",
            isSafeLive: true,
            world: .oneFlag
        ) { probe in
            let provider = try await probe.provider()
            var text = String(reflecting: provider) + String(describing: provider)
            dump(provider, to: &text)
            for secret in probe.stage.secrets where secret.count >= 4 {
                probe.expect(!text.contains(secret), "the dump of \(type(of: provider)) contains a secret")
            }
            probe.expect(!text.isEmpty, "a provider can be printed")
        },
        ConformanceCase(
            "privacy/no-secrets-in-errors-of-reading",
            promise: 20,
            "When decisions fail, neither the error nor the log shows a secret",
            requires: [.flags],
            world: .oneFlag
        ) { probe in
            let session = try await probe.session()
            // A client that polls may have a request in flight, whose answer the next refresh would share.
            _ = await probe.refresh(session)
            for kind in [WorldFault.Kind.status(401), .status(500), .reset, .html200, .redirect] {
                try await probe.inject(WorldFault(kind, on: .decisions, times: nil))
                let error = await probe.refresh(session)
                let text = (error.map { "\($0) \($0.message)" } ?? "") + probe.log.text
                for secret in probe.stage.secrets where secret.count >= 4 {
                    probe.expect(!text.contains(secret), "the account of \(kind.name) contains a secret")
                }
                probe.expect(error != nil, "\(kind.name) is an error")
                try await probe.stage.clearFaults()
            }
        },
        delivery(
            "privacy/no-secrets-in-failures-of-delivery",
            20,
            "When deliveries fail, neither the reasons nor the log show a secret"
        ) { probe in
            try await probe.inject(
                WorldFault(.status(500), on: .events, times: 1),
                WorldFault(.status(400), on: .events, times: 1),
                WorldFault(.reset, on: .events, times: 1)
            )
            try await probe.trackMarks(1...2, in: try await probe.session())
            var text = ""
            for _ in 0..<4 {
                try await probe.tryOnce()
                text += try await probe.client().outboxStatus().failures.keys.joined(separator: "\n")
                probe.push(.seconds(600))
            }
            text += probe.log.text
            for secret in probe.stage.secrets where secret.count >= 4 {
                probe.expect(!text.contains(secret), "the account of the failures contains a secret")
            }
            probe.expect(!text.isEmpty, "failures leave a reason")
        },
        ConformanceCase(
            "privacy/no-personal-data-in-the-log",
            promise: 20,
            "A user's ids and attributes are never logged, whatever goes wrong",
            requires: [.flags],
            world: .oneFlag
        ) { probe in
            let user = User(
                id: "person-93f2a7",
                attributes: ["email": "grace@example.com", "phone": "+49-30-5550139"],
                consent: .granted
            )
            let session = try await probe.session(for: user)
            try await probe.inject(WorldFault(.status(500), on: .decisions, times: nil))
            let error = await probe.refresh(session)
            try await probe.stage.clearFaults()
            probe.push(.seconds(600))
            await probe.refresh(session)
            let text = probe.log.text + (error.map { "\($0)" } ?? "")
            for piece in ["person-93f2a7", "grace@example.com", "5550139"] {
                probe.expect(!text.contains(piece), "the log or an error contains \"\(piece)\"")
            }
        },
        delivery(
            "privacy/no-personal-data-in-the-log-of-deliveries",
            20,
            "The ids and attributes of an event's user are never logged, whatever goes wrong"
        ) { probe in
            let user = User(id: "person-93f2a7", attributes: ["email": "grace@example.com"], consent: .granted)
            try await probe.inject(WorldFault(.status(500), on: .events, times: 2))
            try await probe.trackMarks(1...1, in: try await probe.session(for: user))
            try await probe.deliverAll()
            let text = probe.log.text
            for piece in ["person-93f2a7", "grace@example.com"] {
                probe.expect(!text.contains(piece), "the log contains \"\(piece)\"")
            }
        },
        ConformanceCase(
            "privacy/no-personal-data-in-errors-of-reading",
            promise: 20,
            "When decisions fail, neither the error nor the log shows a user's ids or attributes",
            requires: [.flags],
            world: .oneFlag
        ) { probe in
            let user = User(
                id: "person-93f2a7",
                anonymousID: "visit-5550139",
                attributes: ["email": "grace@example.com"],
                consent: .granted
            )
            let session = try await probe.session(for: user)
            // A client that polls may have a request in flight, whose answer the next refresh would share.
            _ = await probe.refresh(session)
            for kind in [WorldFault.Kind.status(400), .status(401), .reset, .html200, .redirect, .garbage, .truncate] {
                try await probe.inject(WorldFault(kind, on: .decisions, times: nil))
                let error = await probe.refresh(session)
                let text = (error.map { "\($0) \($0.message)" } ?? "") + probe.log.text
                for piece in ["person-93f2a7", "visit-5550139", "grace@example.com"] {
                    probe.expect(!text.contains(piece), "the account of \(kind.name) contains \"\(piece)\"")
                }
                try await probe.stage.clearFaults()
            }
        },
        delivery(
            "privacy/no-personal-data-in-failures-of-delivery",
            20,
            "When deliveries fail, the reported reasons contain neither the user's ids nor attributes"
        ) { probe in
            let user = User(id: "person-93f2a7", attributes: ["email": "grace@example.com"], consent: .granted)
            _ = try await probe.client(
                ClientOptions(batching: BatchPolicy(count: 100, interval: .seconds(3_600), attempts: 2))
            )
            let session = try await probe.session(for: user)
            var reasons: Set<String> = []
            // One event at a time, because nothing is reported about a refused batch before it is divided.
            for (number, kinds) in [(1, [WorldFault.Kind.status(400), .status(400)]), (2, [.status(500), .reset])] {
                try await probe.trackMarks(number...number, in: session)
                for kind in kinds {
                    try await probe.inject(WorldFault(kind, on: .events, times: nil))
                    try await probe.tryOnce()
                    reasons.formUnion(try await probe.client().outboxStatus().failures.keys)
                    try await probe.stage.clearFaults()
                    probe.push(.seconds(600))
                }
            }
            let text = reasons.sorted().joined(separator: "\n") + probe.log.text
            for piece in ["person-93f2a7", "grace@example.com"] {
                probe.expect(!text.contains(piece), "the account of the failures contains \"\(piece)\"")
            }
            probe.expect(!reasons.isEmpty, "failures leave a reason")
        },
        ConformanceCase(
            "privacy/no-personal-data-in-errors-of-linking",
            promise: 20,
            "When a link fails, neither the error nor the log shows the users' ids, their attributes or a secret",
            requires: [.identityLinking],
            world: .oneFlag
        ) { probe in
            try await probe.session(for: User(id: "guest-1", consent: .granted)).link(to: Identity(id: "member-1"))
            guard try await !probe.exchanges(.identity).isEmpty else {
                throw CaseDoesNotApply("the vendor is told of links with events")
            }
            var failures = 0
            for kind in [WorldFault.Kind.status(401), .status(500), .reset, .html200, .redirect] {
                let session = try await probe.session(for: User(id: "person-93f2a7-\(kind.name)", consent: .granted))
                let known = Identity(id: "person-5550139", anonymousID: session.user.id, isAuthenticated: true)
                try await probe.inject(WorldFault(kind, on: .identity, times: nil))
                var text = ""
                do throws(ExperimentationError) {
                    try await session.link(to: known, criteria: ["email": "grace@example.com"])
                } catch {
                    failures += 1
                    text = "\(error) \(error.message)"
                }
                text += probe.log.text
                for piece in ["person-93f2a7", "5550139", "grace@example.com"] {
                    probe.expect(!text.contains(piece), "the account of \(kind.name) contains \"\(piece)\"")
                }
                for secret in probe.stage.secrets where secret.count >= 4 {
                    probe.expect(!text.contains(secret), "the account of \(kind.name) contains a secret")
                }
                try await probe.stage.clearFaults()
                probe.push(.seconds(60))
            }
            probe.expect(failures > 0, "some linking fails")
        },
    ]
}
