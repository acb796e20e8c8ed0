import ExperimentationTesting
import Foundation
import Testing

@testable import Experimentation

@Suite("Any operation of a store may fail")
struct FailureSweepTests {
    /// The result of one run.
    private struct Outcome {
        /// The accepted and the rejected events, by user.
        var accepted: [String: [Int]] = [:]
        var refused: [String: Set<Int>] = [:]
        /// The number of events that the vendor had of a user when their withdrawal returned.
        var atWithdrawal = 0
    }

    /// Which operations fail, one run after another.
    struct Sweep: Sendable {
        /// The number of consecutive failures.
        var length: Int
        /// The kinds of operations that may fail.
        var kinds = FailingStore.everyOperation
        /// The kinds that must fail in at least one run.
        var reached: Set<StoreOperation> = [
            .append, .setConsent, .lease, .isCurrent, .settle, .release, .expire, .status, .removeAll,
        ]
        /// The minimum number of runs.
        var runs = 60
    }

    private let received: @Sendable (ScriptedVendor, String) -> [Envelope] = { vendor, user in
        var seen: Set<String> = []
        return vendor.record.received.filter { $0.identity.id == user && seen.insert($0.id).inserted }
    }

    /// Tracks, holds, releases, withdraws and delivers while operations fail, then recovers.
    private func play(_ store: FailingStore, _ vendor: ScriptedVendor, seed: Int) async throws -> (
        Outcome, ExperimentationClient
    ) {
        let time = ManualTime()
        let dice = Dice(seed)
        vendor.answer { _ in DeliveryReport(dice.below(3) == 0 ? .outage() : .delivered) }
        let client = try await time.passing {
            try await vendor.client(store: ClientStore(outbox: store, state: store), time: time)
        }
        let ada = client.session(for: User(id: "ada", consent: .granted))
        // Held until consent is granted.
        let bob = client.session(for: User(id: "bob"))
        // Granted, later withdrawn.
        let eve = client.session(for: User(id: "eve", consent: .granted))
        var outcome = Outcome()
        for number in 0..<12 {
            for session in [ada, bob, eve] {
                do throws(ExperimentationError) {
                    try await session.track(.numbered(number))
                    outcome.accepted[session.user.id, default: []].append(number)
                } catch {
                    #expect(error.code == (session === eve && number > 6 ? .consentDenied : .store))
                    outcome.refused[session.user.id, default: []].insert(number)
                }
            }
            if number == 4 { try? await bob.setConsent(.granted) }
            if number == 6 {
                try? await eve.setConsent(.denied)
                outcome.atWithdrawal = received(vendor, "eve").count { $0.event.number != nil }
            }
            if number % 3 == 2 { _ = try? await client.flush(retrying: false) }
        }
        vendor.answer { _ in DeliveryReport(.delivered) }
        for _ in 0..<10 {
            time.advance(by: .seconds(150))
            do throws(ExperimentationError) {
                try await bob.setConsent(.granted)
                try await eve.setConsent(.denied)
                if try await client.flush(retrying: false).isDone { break }
            } catch { #expect(error.code == .store) }
        }
        return (outcome, client)
    }

    @Test(
        "P18 whichever operation fails, before or after it is carried out, accepted events are delivered and ledgers balance",
        arguments: [
            Sweep(length: 1),
            Sweep(length: 3),
            // A failed denial is recorded as owed.
            Sweep(length: 2, kinds: [.setConsent, .setValue], reached: [.setConsent, .setValue], runs: 4),
        ],
        FailingStore.Moment.allCases
    )
    func anyOperation(sweep: Sweep, moment: FailingStore.Moment) async throws {
        var failed: Set<StoreOperation> = []
        // Which operation is the nth depends on the order of tasks, so that a sweep may miss a rare kind.
        for round in 0..<5 where !sweep.reached.isSubset(of: failed) {
            try await carryOut(sweep, moment, round, &failed)
        }
        #expect(sweep.reached.isSubset(of: failed), "\(sweep.reached.subtracting(failed))")
    }

    /// Lets the first operation fail, then the second, and so on until there is none.
    private func carryOut(
        _ sweep: Sweep,
        _ moment: FailingStore.Moment,
        _ round: Int,
        _ failed: inout Set<StoreOperation>
    ) async throws {
        var first = 0
        while true {
            let store = FailingStore(failing: first..<(first + sweep.length), of: sweep.kinds, moment)
            let vendor = ScriptedVendor(
                batching: BatchPolicy(
                    count: 1_000_000,
                    largest: 100,
                    bytes: .max,
                    interval: .seconds(3_600),
                    maximumAge: .seconds(86_400)
                ),
                needsConsent: true
            )
            let (outcome, client) = try await play(store, vendor, seed: round * 1_000 + first)
            for user in ["ada", "bob"] {
                let numbers = received(vendor, user).compactMap(\.event.number)
                let refused = outcome.refused[user] ?? []
                #expect(numbers == numbers.sorted(), "operation \(first)")
                // An event whose acknowledgment was lost may be stored all the same.
                #expect(
                    numbers.filter { !refused.contains($0) } == outcome.accepted[user],
                    "operation \(first), \(user)"
                )
                if moment == .before { #expect(refused.isDisjoint(with: numbers), "operation \(first), \(user)") }
            }
            let eves = received(vendor, "eve").count { $0.event.number != nil }
            #expect(eves == outcome.atWithdrawal, "operation \(first)")
            for user in ["bob", "eve"] {
                let signals = received(vendor, user).count { $0.event.type == "consentChanged" }
                #expect(moment == .before ? signals == 1 : signals >= 1, "operation \(first), \(user)")
            }
            let ledger = try await client.ledger()
            let unique = Set(vendor.record.received.map(\.id)).count
            // Deliveries that couldn't be settled are settled later, not sent again.
            #expect(unique == vendor.record.received.count, "operation \(first)")
            #expect(ledger.isBalanced && ledger.pending == 0 && ledger.dropped.isEmpty, "operation \(first)")
            // Deliveries of a user who withdrew may count as purged, if they couldn't be settled before.
            #expect((unique - eves...unique).contains(ledger.delivered), "operation \(first): \(ledger)")
            #expect(try await store.keys(beginningWith: "").isEmpty, "operation \(first)")
            failed.formUnion(store.failed)
            // Ends at an operation that no longer exists.
            if store.operations <= first { break }
            first += 1
        }
        #expect(first > sweep.runs)
    }
}
