import Experimentation
import Foundation

extension ConformanceCase {
    /// Promises 16 and 17: consent holds, releases and purges events; linking preserves data and resumes.
    static let consent: [ConformanceCase] = [
        delivery(
            "consent/unknown",
            16,
            "Unknown consent holds events only where the vendor needs consent"
        ) { probe in
            let session = try await probe.session(for: .cleo)
            try await probe.trackMarks(1...2, in: session)
            try await probe.deliverAll()
            let isHeld = try await probe.needsConsent()
            probe.expect(try await probe.marks(), equals: isHeld ? [] : [1, 2], "what the vendor took")
            probe.expect(try await probe.ledger().pending, equals: isHeld ? 2 : 0, "what waits")
        },
        delivery("consent/granted-lets-go", 16, "Once consent is given, held events arrive in order") { probe in
            let session = try await probe.session(for: .cleo)
            try await probe.trackMarks(1...3, in: session)
            try await session.setConsent(.granted)
            try await probe.trackMarks(4...4, in: session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2, 3, 4], "what the vendor took")
        },
        delivery(
            "consent/granted-with-original-times",
            16,
            "Held events carry the time when they happened",
            fields: [.date]
        ) { probe in
            let session = try await probe.session(for: .cleo)
            // Keeps the event's time apart from the machine's, which a mock could record instead.
            probe.push(.seconds(7_200))
            let happened = probe.time.now
            try await probe.trackMarks(1...1, in: session)
            probe.push(.seconds(1_200))
            try await session.setConsent(.granted)
            try await probe.deliverAll()
            let date = try probe.unwrap(try await probe.received().first.flatMap(probe.date), "the time on the wire")
            let difference = abs(date.timeIntervalSince(happened))
            probe.expect(difference < 30, "the time on the wire is \(difference) s off")
        },
        delivery("consent/held-survives-a-restart", 16, "Held events are still held after a kill") {
            probe in
            guard try await probe.needsConsent() else {
                throw CaseDoesNotApply("\(probe.subject.name) doesn't need consent")
            }
            try await probe.trackMarks(1...2, in: try await probe.session(for: .cleo))
            try await probe.kill()
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [], "before consent")
            try await probe.session(for: .cleo).setConsent(.granted)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [1, 2], "after consent")
        },
        delivery(
            "consent/denied-refuses",
            16,
            "Without consent, an event is rejected with CONSENT_DENIED and leaves no trace"
        ) { probe in
            let session = try await probe.session(for: .dan)
            let event = try await probe.event(1)
            await probe.expectError("track", .consentDenied) { try await session.track(event) }
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [], "what the vendor took")
            probe.expect(try await probe.ledger().accepted, equals: 0, "accepted")
        },
        delivery(
            "consent/denied-purges",
            16,
            "When consent is withdrawn, waiting events are deleted and counted as purged"
        ) {
            probe in
            try await probe.setReachable(false)
            let session = try await probe.session()
            try await probe.trackMarks(1...3, in: session)
            try await session.setConsent(.denied)
            let ledger = try await probe.ledger()
            probe.expect(ledger.purged, equals: 3, "purged")
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [], "what the vendor took")
        },
        delivery(
            "consent/denied-purges-what-was-held",
            16,
            "If consent is denied instead of granted, held events are gone for good"
        ) { probe in
            guard try await probe.needsConsent() else {
                throw CaseDoesNotApply("\(probe.subject.name) doesn't need consent")
            }
            let session = try await probe.session(for: .cleo)
            try await probe.trackMarks(1...2, in: session)
            try await session.setConsent(.denied)
            try await session.setConsent(.granted)
            try await probe.trackMarks(3...3, in: session)
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [3], "what the vendor took")
        },
        delivery(
            "consent/withdrawn-and-given-again",
            16,
            "After consent is given again, new events are delivered and deleted ones stay deleted"
        ) { probe in
            try await probe.setReachable(false)
            let session = try await probe.session()
            try await probe.trackMarks(1...2, in: session)
            try await session.setConsent(.denied)
            try await session.setConsent(.granted)
            try await probe.trackMarks(3...3, in: session)
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [3], "what the vendor took")
        },
        delivery("consent/one-users-own", 16, "One user's withdrawal doesn't affect another's events") { probe in
            try await probe.setReachable(false)
            let ada = try await probe.session(for: .ada)
            let ben = try await probe.session(for: .ben)
            try await probe.trackMarks(1...2, in: ada)
            try await probe.trackMarks(3...4, in: ben)
            try await ada.setConsent(.denied)
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [3, 4], "what the vendor took")
        },
        delivery("consent/denied-meanwhile", 16, "After a denial, the previous run's events of the user aren't sent") {
            probe in
            try await probe.setReachable(false)
            try await probe.trackMarks(1...2, in: try await probe.session(for: .ada))
            try await probe.restart()
            var user = User.ada
            user.consent = .denied
            let session = try await probe.session(for: user)
            // The rejection shows that the denial is in effect.
            let event = try await probe.event(3)
            await probe.expectError("track", .consentDenied) { try await session.track(event) }
            probe.expect(try await probe.ledger().purged, equals: 2, "purged")
            try await probe.setReachable(true)
            probe.push(.seconds(600))
            try await probe.deliverAll()
            probe.expect(try await probe.marks(), equals: [], "what the vendor took")
        },
        delivery(
            "consent/signal-when-withdrawn",
            16,
            "The vendor is told that consent was withdrawn, and receives no other event",
            requires: [.consentSignal],
            probes: .consentSignal
        ) { probe in
            let session = try await probe.session()
            try await session.setConsent(.denied)
            try await probe.deliverAll()
            let signals = try await probe.received("consentChanged")
            probe.expect(signals.map(\.isGranted), equals: [false], "the signals")
            probe.expect(try await probe.received().count, equals: 0, "other events")
        },
        delivery(
            "consent/signal-when-given",
            16,
            "The vendor is told that consent was given, once",
            requires: [.consentSignal]
        ) { probe in
            let session = try await probe.session(for: .cleo)
            try await session.setConsent(.granted)
            try await session.setConsent(.granted)
            try await probe.deliverAll()
            let signals = try await probe.received("consentChanged")
            probe.expect(signals.map(\.isGranted), equals: [true], "the signals")
        },
        ConformanceCase(
            "consent/reading-needs-none",
            promise: 16,
            "Flags can be read without consent",
            requires: [.flags],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            for user in [User.cleo, .dan] {
                let session = try await probe.readySession(for: user)
                probe.expect(session.string("welcome", default: "x"), equals: "Hello!", "\(user.id)'s value")
            }
        },
        ConformanceCase(
            "consent/nothing-kept-of-who-denies",
            promise: 16,
            "A denying user's decisions aren't stored for the next start",
            requires: [.flags, .offlineStart],
            needs: ["flags/welcome"],
            world: .oneFlag
        ) { probe in
            guard case .asked = try await probe.roles().decisions else {
                throw CaseDoesNotApply(
                    "\(probe.subject.name)'s rules are the same for everybody; nothing of a user is kept"
                )
            }
            let session = try await probe.readySession(for: .ada)
            try await session.setConsent(.denied)
            try await probe.setReachable(false)
            try await probe.restart()
            let again = try await probe.session(for: .ada)
            await probe.refresh(again)
            probe.expect(again.string("welcome", default: "x"), equals: "x", "the value")
        },
        ConformanceCase(
            "identity/login-changes-the-user",
            promise: 17,
            "After a login, decisions are the known user's; until the refresh, the old ones are stale",
            requires: [.flags, .experiments],
            needs: ["experiments/checkout/forced", "flags/checkout-color"],
            world: .forced
        ) { probe in
            let session = try await probe.readySession(for: .ada)
            session.identify(Identity(id: "ben", isAuthenticated: true))
            let between = session.details("checkout-color", default: "?")
            probe.expect(between.reason, equals: .stale, "the reason before the refresh")
            await probe.refresh(session)
            probe.expect(session.string("checkout-color", default: "?"), equals: "green", "ben's value")
        },
        delivery(
            "identity/both-ids-travel",
            17,
            "After a login, events carry the known id and the anonymous one",
            fields: [.userID, .anonymousID]
        ) { probe in
            let session = try await probe.session(for: User(id: "guest-1", consent: .granted))
            session.identify(Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true))
            try await probe.trackMarks(1...1, in: session)
            try await probe.deliverAll()
            let received = try await probe.received()
            probe.expect(received.map(\.userID), equals: ["ada"], "the user's id")
            probe.expect(received.map(\.anonymousID), equals: ["guest-1"], "the anonymous id")
        },
        linking("identity/link", "Linking makes the session the known user's, at the vendor, too") { probe in
            let session = try await probe.session(for: guest)
            let identity = try await session.link(
                to: Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true),
                criteria: ["email": "ada@example.com"]
            )
            probe.expect(session.user.id, equals: identity.id, "the session's user")
            probe.expect(session.user.identity, equals: identity, "the session's ids")
            let told = try await probe.received("identity")
            let seen = told.map { "\($0.anonymousID ?? "–") is \($0.userID ?? "–")" }
            probe.expect(
                told.contains { $0.userID == identity.id },
                "the vendor must know \(identity.id) by the linking; it was told: \(seen)"
            )
            probe.expect(
                told.contains { $0.userID == "guest-1" || $0.anonymousID == "guest-1" },
                "the vendor must know who guest-1 was; it was told: \(seen)"
            )
        },
        linking(
            "identity/link-that-was-interrupted",
            "A failed link leaves the user unchanged, and continues when called again"
        ) { probe in
            let session = try await probe.session(for: guest)
            try await probe.setReachable(false)
            let known = Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true)
            await probe.expectError("link") {
                try await session.link(to: known, criteria: ["email": "ada@example.com"])
            }
            probe.expect(session.user.id, equals: "guest-1", "the user after the failure")
            try await probe.setReachable(true)
            probe.push(.seconds(60))
            let identity = try await session.link(to: known, criteria: ["email": "ada@example.com"])
            probe.expect(session.user.id, equals: identity.id, "the user after the second call")
        },
        linking("identity/link-over-a-kill", "A link interrupted by a kill is continued by the next run") { probe in
            let session = try await probe.session(for: guest)
            let known = Identity(id: "ada", anonymousID: "guest-1", isAuthenticated: true)
            try await probe.setReachable(false)
            await probe.expectError("link") {
                try await session.link(to: known, criteria: ["email": "ada@example.com"])
            }
            try await probe.kill()
            try await probe.setReachable(true)
            probe.push(.seconds(60))
            let again = try await probe.session(for: guest)
            let identity = try await again.link(to: known, criteria: ["email": "ada@example.com"])
            probe.expect(again.user.id, equals: identity.id, "the user afterwards")
        },
        linking(
            "identity/link-cut-between-two-steps",
            "A link killed between two steps continues with the second and doesn't repeat the first"
        ) { probe in
            func link(_ name: String, to id: String) async throws {
                let session = try await probe.session(for: User(id: name, consent: .granted))
                let known = Identity(id: id, anonymousID: name, isAuthenticated: true)
                try await session.link(to: known, criteria: ["email": "\(id)@example.com"])
            }
            // An undisturbed run shows how many requests linking takes with this vendor.
            try await link("guest-1", to: "ada")
            let whole = try await probe.exchanges(.identity).count
            guard whole > 1 else { throw CaseDoesNotApply("\(probe.subject.name) links in one step") }
            try await probe.inject(WorldFault(.status(503), on: .identity, after: whole - 1, times: nil))
            await probe.expectError("the linking that is cut") { try await link("guest-2", to: "ben") }
            try await probe.kill()
            try await probe.stage.clearFaults()
            probe.push(.seconds(60))
            let before = try await probe.exchanges(.identity).count
            try await link("guest-2", to: "ben")
            let resumed = try await probe.exchanges(.identity).count - before
            probe.expect(resumed, equals: 1, "requests after the kill, of \(whole) for a whole linking")
        },
        ConformanceCase(
            "identity/link-without-steps",
            promise: 17,
            "A link without remote steps completes immediately and sends no request",
            world: .oneFlag
        ) { probe in
            guard try await probe.roles().identity == nil else {
                throw CaseDoesNotApply("\(probe.subject.name) links in steps")
            }
            let session = try await probe.session(for: guest)
            try await session.link(to: Identity(id: "ada", anonymousID: "guest-1"))
            probe.expect(session.user.id, equals: "ada", "the user")
            probe.expect(try await probe.exchanges(.identity).count, equals: 0, "requests")
        },
    ]

    private static let guest = User(id: "guest-1", consent: .granted)

    private static func linking(_ name: String, _ summary: String, _ steps: @escaping Steps) -> ConformanceCase {
        ConformanceCase(
            name,
            promise: 17,
            summary,
            requires: [.identityLinking],
            probes: name == "identity/link" ? .identityLinking : nil,
            world: .oneFlag
        ) { probe in
            let linker = try await probe.roles().identity
            try probe.require(linker != nil, "\(probe.subject.name) has no steps that link two users")
            try await steps(probe)
        }
    }
}
