import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Users' consent, as applied by the store.
    static let consent = [
        rule("consent/denied", "a denial takes a user's events everywhere, but not the consent signal nor others'") {
            trial in
            let store = trial.store
            try await store.add("a1", "b1", owedTo: [.home, .away])
            try await store.add("a2", isHeld: true)
            try await store.add([NewEvent("a3", .consent(false), owedTo: [.home, .away])])
            trial.expect(try await store.setConsent([.denied("a")]), ConsentOutcome(removed: 3))
            trial.expect(try await store.setConsent([.denied("a")]), ConsentOutcome())
            for destination in [Destination.home, .away] { try await trial.expectAll(of: destination, ["b1", "a3"]) }
            try await trial.expectLedger(Ledger(accepted: 4, pending: 2, purged: 2))
            try await trial.expectLedger(of: .away, Ledger(accepted: 3, pending: 2, purged: 1))
        },
        rule("consent/refused", "who denies is refused from then on, but for the signal itself, until granting") {
            trial in
            let store = trial.store
            _ = try await store.setConsent([.denied("a")])
            let events = [
                NewEvent("a1"), NewEvent("b1"), NewEvent("a2", .consent(false)), NewEvent("a3", isHeld: true),
            ]
            trial.expect(try await store.add(events), [.consentDenied, nil, nil, .consentDenied])
            try await trial.expectLedger(Ledger(accepted: 2, pending: 2))
            _ = try await store.setConsent([.granted("a")])
            trial.expect(try await store.add("a4"), [nil])
            try await trial.expectAll(["b1", "a2", "a4"])
        },
        rule("consent/granting-event", "an event that grants consent ends a denial and releases, before it") { trial in
            let store = trial.store
            try await store.add("a1", isHeld: true)
            let events = [NewEvent("a2", isHeld: true), NewEvent("a3", grantsConsent: true), NewEvent("a4")]
            trial.expect(try await store.add(events), [nil, nil, nil])
            _ = try await store.setConsent([.denied("b")])
            let others = [NewEvent("b1"), NewEvent("b2", .consent(true), grantsConsent: true), NewEvent("b3")]
            trial.expect(try await store.add(others), [.consentDenied, nil, nil])
            try await trial.expectAll(["a1", "a2", "a3", "a4", "b2", "b3"])
        },
        rule("consent/held", "only what a delivery says to hold is held, at that destination alone") { trial in
            let store = trial.store
            let event = NewEvent("a1").envelope
            try await store.add([
                NewEvent(event, owedTo: [.init(to: .home, isHeld: true), .init(to: .away)]), NewEvent("a2"),
            ])
            try await trial.expectAll(["a2"])
            try await trial.expectAll(of: .away, ["a1"])
            trial.expect(try await store.status(of: .home, now: start).held, 1)
            trial.expect(try await store.status(of: .away, now: start).held, 0)
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.isHeld), [false, false])
        },
        rule("consent/granted", "held events are released with their times and in their order") { trial in
            let store = trial.store
            try await store.add([NewEvent("a1", isHeld: true, at: -60), NewEvent("b1", isHeld: true)])
            try await store.add("a2")
            try await store.add([NewEvent("a3", owedTo: [.home, .away], isHeld: true, at: -50)])
            trial.expect(try await store.setConsent([.granted("a")]), ConsentOutcome(released: 3))
            trial.expect(try await store.setConsent([.granted("a")]), ConsentOutcome())
            let lease = try await store.taken()
            trial.expect(lease.ids, ["a1", "a2", "a3"])
            trial.expect(lease.batches.joined().map(\.date), [at(-60), start, at(-50)])
            trial.expect(try await store.status(of: .home, now: start).held, 1)
            try await trial.expectAll(of: .away, ["a3"])
        },
        rule("consent/several", "several changes about one user are carried out in their order") { trial in
            let store = trial.store
            let table: [([ConsentChange], ConsentOutcome, ErrorCode?)] = [
                ([.granted("a"), .denied("a")], ConsentOutcome(removed: 2, released: 1), .consentDenied),
                ([.denied("a"), .granted("a")], ConsentOutcome(removed: 2), nil),
                ([.denied("a"), .granted("b"), .denied("a")], ConsentOutcome(removed: 2), .consentDenied),
                ([.granted("a"), .denied("a"), .granted("a")], ConsentOutcome(removed: 2, released: 1), nil),
                ([.granted("a"), .granted("a")], ConsentOutcome(released: 1), nil),
            ]
            for (changes, outcome, refusal) in table {
                _ = try await store.setConsent([.granted("a")])
                _ = try await store.remove(owedTo: .home, as: .purged)
                try await store.add("a1", isHeld: true)
                try await store.add("a2")
                trial.expect(try await store.setConsent(changes), outcome)
                trial.expect(try await store.add("a3"), [refusal])
            }
        },
        rule("consent/exact", "users that look alike are two users") { trial in
            let store = trial.store
            let alike = ["é", "e\u{301}", "E", "e", "e\u{0}", "e\u{0}x", ""]
            for (index, user) in alike.enumerated() {
                let identity = Identity(id: user)
                try await store.add([
                    NewEvent(Envelope(id: "\(index)", identity: identity, event: .custom("x"), date: start), to: .home)
                ])
            }
            let changes = [ConsentChange.denied("e\u{301}"), .granted("é"), .denied("e\u{0}x")]
            trial.expect(try await store.setConsent(changes), ConsentOutcome(removed: 2))
            try await trial.expectAll(["0", "2", "3", "4", "6"])
            var answers: [ErrorCode?] = []
            for user in alike {
                let envelope = Envelope(id: "n", identity: Identity(id: user), event: .custom("x"), date: start)
                answers += try await store.add([NewEvent(envelope, to: .home)])
            }
            trial.expect(answers, [nil, .consentDenied, nil, nil, nil, .consentDenied, nil])
        },
        rule("consent/exact-held", "consent releases the events of exactly its user") { trial in
            let store = trial.store
            let alike = ["é", "e\u{301}", "E", "e", "e\u{0}", "e\u{0}x", ""]
            for (index, user) in alike.enumerated() {
                let identity = Identity(id: user)
                let envelope = Envelope(id: "\(index)", identity: identity, event: .custom("x"), date: start)
                try await store.add([NewEvent(envelope, owedTo: [.init(to: .home, isHeld: true)])])
            }
            for (index, user) in alike.enumerated().reversed() {
                trial.expect(try await store.setConsent([.granted(user)]), ConsentOutcome(released: 1))
                let lease = try await store.taken()
                trial.expect(lease.ids, ["\(index)"])
                _ = try await store.settleAll(lease)
                try await store.release(lease)
            }
        },
    ]

    /// Consent that changes while events are leased.
    static let consentInHand = [
        rule("consent/denied-in-hand", "a denial ends the round that has such an event, and no other") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1", owedTo: [.home, .away])
            let lease = try await store.taken(count: 2)
            let other = try await store.taken(of: .away)
            _ = try await store.setConsent([.denied("d")])
            trial.expect(try await store.isCurrent(lease.token), true)
            _ = try await store.setConsent([.denied("c")])
            // `c1` lay beyond home's lease, but within away's.
            trial.expect(try await store.isCurrent(lease.token), true)
            trial.expect(try await store.isCurrent(other.token), false)
            _ = try await store.setConsent([.denied("a")])
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.take(behind: lease.token), .lost)
            // An event in flight counts as purged once consent is withdrawn; verdicts on the others still count.
            let isCurrent = try await store.settle(lease, ["a1": .delivered, "b1": .again(5)])
            trial.expect(isCurrent, false)
            try await trial.expectLedger(Ledger(accepted: 3, pending: 1, purged: 2))
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.envelope.attempts), [1])
        },
        rule("consent/granted-in-hand", "a grant ends the round that has passed over such an event") { trial in
            let store = trial.store
            try await store.add("a1", "b1", isHeld: true)
            try await store.add("c1", "c2")
            try await store.add("b2", isHeld: true)
            let lease = try await store.taken(count: 1)
            trial.expect(lease.ids, ["c1"])
            _ = try await store.setConsent([.granted("d")])
            trial.expect(try await store.isCurrent(lease.token), true)
            _ = try await store.setConsent([.granted("a")])
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.settle(lease, ["c1": .delivered]), false)
            let again = try await store.taken(count: 2)
            trial.expect(again.ids, ["a1", "c2"])
            trial.expect(again.token.epoch, lease.token.epoch)
            trial.expect(again.token.revision > lease.token.revision, true)
        },
        rule("consent/released-behind", "what is released behind what was given out joins the round") { trial in
            let store = trial.store
            try await store.add("c1")
            try await store.add("a1", isHeld: true)
            let lease = try await store.taken(count: 1)
            _ = try await store.setConsent([.granted("a")])
            trial.expect(try await store.isCurrent(lease.token), true)
            trial.expect(try await store.taken(behind: lease.token).ids, ["a1"])
        },
        rule("consent/event-in-hand", "an event that grants consent ends a round just as a grant does") { trial in
            let store = trial.store
            try await store.add("a1", isHeld: true)
            try await store.add("c1", "c2")
            let lease = try await store.taken(count: 1)
            try await store.add([NewEvent("a2", grantsConsent: true)])
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.taken().ids, ["a1", "c1", "c2", "a2"])
        },
        rule("consent/lane-free", "a denial while the lane is free disturbs no later holder") { trial in
            let store = trial.store
            try await store.add("a1", "b1")
            let lease = try await store.taken(1)
            try await store.release(lease)
            _ = try await store.setConsent([.denied("a")])
            let next = try await store.taken(2)
            trial.expect(next.ids, ["b1"])
            trial.expect(try await store.isCurrent(next.token), true)
        },
    ]
}
