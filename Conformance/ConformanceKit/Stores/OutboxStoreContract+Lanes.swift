import Experimentation
import Foundation

extension OutboxStoreContract {
    /// Who may deliver a lane.
    static let lanes = [
        rule("lanes/one-holder", "a lane has one holder; others learn until when") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1")
            let lease = try await store.taken(1, count: 1)
            trial.expect(try await store.take(2), .busy(until: at(60)))
            trial.expect(try await store.take(2, at: 59.9), .busy(until: at(60)))
            trial.expect(try await store.isCurrent(lease.token), true)
            try await store.release(lease)
            trial.expect(try await store.isCurrent(lease.token), false)
            trial.expect(try await store.taken(2).ids, ["a1", "b1", "c1"])
        },
        rule("lanes/renewed", "going on renews a lease, and so does beginning again") { trial in
            let store = trial.store
            try await store.add("a1", "a2", "a3")
            let lease = try await store.taken(1, count: 1)
            _ = try await store.taken(1, count: 1, at: 50, behind: lease.token)
            trial.expect(try await store.take(2, at: 70), .busy(until: at(110)))
            _ = try await store.taken(1, at: 100)
            trial.expect(try await store.take(2, at: 120), .busy(until: at(160)))
        },
        rule("lanes/taken-over", "a lease that is over is taken by another, and is lost to its holder") { trial in
            let store = trial.store
            try await store.add("a1", "b1")
            let old = try await store.taken(1)
            // There is no other holder, so a late one may continue.
            trial.expect(try await store.isCurrent(old.token), true)
            let new = try await store.taken(2, at: 60)
            trial.expect(new.ids, ["a1", "b1"])
            trial.expect(new.token.epoch > old.token.epoch, true)
            trial.expect(try await store.isCurrent(old.token), false)
            trial.expect(try await store.take(1, at: 61, behind: old.token), .lost)
            trial.expect(try await store.take(1, at: 61), .busy(until: at(120)))
            // A token serves only its owner.
            trial.expect(try await store.take(3, at: 61, behind: new.token), .lost)
            // Releasing a lost lane has no effect.
            try await store.release(
                old.token,
                pause: DeliveryPause(until: at(900), reason: "late", through: 9),
                now: at(61)
            )
            trial.expect(try await store.isCurrent(new.token), true)
            trial.expect(try await store.status(of: .home, now: at(61)).failures, [:])
        },
        rule("lanes/epochs", "the epoch grows with each change of hands, and never falls") { trial in
            let store = trial.store
            try await store.add("a1")
            var last: Int64 = -1
            for turn in 0..<6 {
                let lease = try await store.taken(Int64(turn % 2 + 1), at: Double(turn) * 100)
                trial.expect(lease.token.epoch > last, true)
                last = lease.token.epoch
                if turn.isMultiple(of: 3) { try await store.release(lease, at: Double(turn) * 100) }
            }
            // Also across a period without events.
            let lease = try await store.taken(2, at: 900)
            try await store.settleAll(lease, at: 900)
            trial.expect(try await store.take(2, at: 900), .nothing(until: nil))
            try await store.add("a2")
            trial.expect(try await store.taken(2, at: 900).token.epoch > lease.token.epoch, true)
        },
        rule("lanes/stale", "who has lost a lane: what it delivered counts, once; its retries and drops don't") {
            trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1", "d1")
            let old = try await store.taken(1)
            let new = try await store.taken(2, at: 60)
            let isCurrent = try await store.settle(
                old,
                at: 61,
                ["a1": .delivered, "b1": .again(900, attempts: 7), "c1": .refused]
            )
            trial.expect(isCurrent, false)
            try await trial.expectLedger(Ledger(accepted: 4, delivered: 1, pending: 3))
            try await store.settle(new, at: 62, ["a1": .delivered, "b1": .delivered])
            try await trial.expectLedger(Ledger(accepted: 4, delivered: 2, pending: 2))
            let waiting = try await store.waiting(after: 0, limit: 9)
            trial.expect(waiting.map(\.envelope.attempts), [0, 0])
            trial.expect(waiting.map(\.reason), [nil, nil])
        },
        rule("lanes/late-answer", "what a former holder delivers late ends the round of who has it in hand now") {
            trial in
            let store = trial.store
            try await store.add("d1", "a1", "b1", "c1")
            let old = try await store.taken(1)
            try await store.settle(old, ["d1": .delivered])
            let new = try await store.taken(2, count: 1, at: 60)
            try await store.settle(old, at: 61, ["d1": .delivered, "c1": .delivered])
            // One was settled long ago, and the other isn't part of the new lease.
            trial.expect(try await store.isCurrent(new.token), true)
            try await store.settle(old, at: 61, ["a1": .delivered])
            trial.expect(try await store.isCurrent(new.token), false)
            trial.expect(try await store.take(2, at: 62, behind: new.token), .lost)
            // The holder keeps the lane, and its own verdicts still count.
            let again = try await store.taken(2, at: 62)
            trial.expect(again.ids, ["b1"])
            trial.expect(again.token.epoch, new.token.epoch)
            trial.expect(try await store.settle(again, at: 62, ["b1": .refused]), true)
            try await trial.expectLedger(Ledger(accepted: 4, delivered: 3, dropped: [.rejected: 1]))
        },
        rule("lanes/paused", "a lane that is let go of with a pause gives nothing until it is over") { trial in
            let store = trial.store
            try await store.add("a1", "b1", "c1")
            let lease = try await store.taken(1, count: 2)
            let through = lease.batches.last?.last?.sequence ?? 0
            let pause = DeliveryPause(until: at(30), reason: "HTTP 503", through: through)
            try await store.release(lease.token, pause: pause, now: start)
            for owner in 1...2 { trial.expect(try await store.take(Int64(owner), at: 29), .paused(until: at(30))) }
            var status = try await store.status(of: .home, now: at(29))
            trial.expect([status.ready, status.delayed, status.leased], [0, 3, 0])
            trial.expect(status.nextAttempt, at(30))
            trial.expect(status.failures, ["HTTP 503": 2])
            trial.expect(try await store.waiting(after: 0, limit: 9).map(\.reason), ["HTTP 503", "HTTP 503", nil])
            status = try await store.status(of: .home, now: at(30))
            trial.expect([status.ready, status.delayed, status.leased], [3, 0, 0])
            let next = try await store.taken(2, at: 30)
            // A delivery ends the trouble.
            try await store.settle(next, at: 30, ["a1": .delivered])
            trial.expect(try await store.status(of: .home, now: at(30)).failures, [:])
        },
        rule("lanes/reason", "a reason without a pause is told, and keeps no deliverer away") { trial in
            let store = trial.store
            try await store.add("a1")
            let lease = try await store.taken(1)
            let pause = DeliveryPause(reason: "HTTP 401", through: try lease.first.sequence)
            try await store.release(lease.token, pause: pause, now: start)
            trial.expect(try await store.status(of: .home, now: start).failures, ["HTTP 401": 1])
            trial.expect(try await store.taken(2).ids, ["a1"])
        },
        rule("lanes/next-attempt", "beside a pause and delays, the next attempt is when neither stands in the way") {
            trial in
            for (delays, expected) in [([10.0], 60.0), ([100], 100), ([10, 100], 60), ([90, 100], 90)] {
                let store = trial.store
                let ids = delays.indices.map { "\($0)" }
                try await store.add(ids.map { NewEvent($0) })
                let lease = try await store.taken(1)
                for (id, delay) in zip(ids, delays) { try await store.settle(lease, [id: .again(delay)]) }
                try await store.release(
                    lease.token,
                    pause: DeliveryPause(until: at(60), reason: "", through: 0),
                    now: start
                )
                trial.expect(try await store.status(of: .home, now: start).nextAttempt, at(expected))
                trial.expect(try await store.remove(owedTo: .home, as: .purged), delays.count)
                trial.expect(try await store.status(of: .home, now: start).nextAttempt, nil)
                // The pause has ended by then.
                let rest = NewEvent("z")
                try await store.add([rest])
                try await store.settleAll(try await store.taken(1, at: 200), at: 200)
            }
        },
    ]
}
