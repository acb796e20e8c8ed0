import Foundation
import Testing

@testable import Experimentation

@Suite("One round of deliveries")
struct DeliveryRoundTests {
    private static let now = Date(timeIntervalSince1970: 1_795_262_400)
    private static let token = LeaseToken(destination: Destination(provider: "v", scope: ""), epoch: 1, revision: 0)

    /// Creates events named by a letter for the user and a number for the position.
    private func events(_ names: String...) -> [Envelope] {
        names.map { name in
            Envelope(
                id: name,
                sequence: Int64(name.dropFirst()) ?? 0,
                identity: Identity(id: String(name.prefix(1))),
                event: .custom(name),
                date: Self.now
            )
        }
    }

    private func round(_ batches: [[Envelope]], unanswered: [String] = [], largest: Int = 3) -> DeliveryRound {
        DeliveryRound(Lease(token: Self.token, batches: batches), unanswered: unanswered, largest: largest)
    }

    private func answer(_ round: inout DeliveryRound, _ batch: [Envelope], _ verdicts: [Verdict?])
        -> DeliveryRound.Consequences
    {
        round.answered(verdicts, to: batch, policy: BatchPolicy(attempts: 3), now: Self.now, jitter: { 0.5 })
    }

    @Test("batches are sent in order, and more are leased while the last one was full")
    func order() {
        var round = round([events("a1", "b2", "a3"), events("b4", "c5", "a6")])
        #expect(round.wantsMore)
        #expect(round.next()?.map(\.id) == ["a1", "b2", "a3"])
        round.add(Lease(token: Self.token, batches: [events("c7")]), largest: 3)
        #expect(!round.wantsMore)
        #expect(round.next()?.map(\.id) == ["b4", "c5", "a6"])
        #expect(round.next()?.map(\.id) == ["c7"])
        #expect(round.next() == nil && round.isExhausted)
    }

    @Test("more batches are leased exactly while the store has more, however large the last batch was")
    func hasMore() {
        func lease(_ batch: [Envelope], hasMore: Bool) -> Lease {
            Lease(token: Self.token, batches: [batch], rest: hasMore ? .more : .otherLanes)
        }
        // Its bytes filled the first batch.
        var round = DeliveryRound(lease(events("a1", "b2"), hasMore: true), unanswered: [], largest: 3)
        #expect(round.wantsMore)
        round.add(lease(events("a3", "b4", "c5"), hasMore: false), largest: 3)
        #expect(!round.wantsMore)
    }

    @Test("the remaining events are known once everything is sent, unless a user has to wait or the round was ended")
    func remainder() {
        let last = Lease(token: Self.token, batches: [events("a1", "b2")], rest: .nothing(until: Self.now))
        func round(_ change: (inout DeliveryRound) -> Void) -> Lease.Rest? {
            var round = DeliveryRound(last, unanswered: [], largest: 3)
            change(&round)
            return round.remainder
        }
        #expect(round { _ in } == nil)
        #expect(round { _ = $0.next() } == .nothing(until: Self.now))
        #expect(round { _ = answer(&$0, $0.next() ?? [], [.delivered, .failed("HTTP 400")]) } == nil)
        #expect(round { _ = answer(&$0, $0.next() ?? [], [.delivered, .delivered]) } == .nothing(until: Self.now))
        #expect(
            round {
                _ = $0.next()
                $0.end()
            } == nil
        )
        #expect(
            round {
                $0.add(Lease(token: Self.token, batches: [events("c3")], rest: .more), largest: 3)
                _ = $0.next()
                _ = $0.next()
            } == .more
        )
    }

    @Test("a batch without an answer is sent again unchanged, before later events")
    func unanswered() {
        var round = round([events("a1", "b2", "a3")], unanswered: ["a1", "b2"])
        #expect(round.next()?.map(\.id) == ["a1", "b2"])
        #expect(round.next()?.map(\.id) == ["a3"])
        var other = self.round([events("a1", "b2", "a3")], unanswered: ["a1", "c9"])
        #expect(other.next()?.map(\.id) == ["a1", "b2", "a3"])
    }

    @Test("a retried event delays its user's later ones, and no other user's")
    func waiting() {
        var round = round([events("a1", "b2", "c3"), events("a4", "b5", "c6")])
        let batch = round.next() ?? []
        let consequences = answer(&round, batch, [.failed("HTTP 400"), .delivered, .delivered])
        let retry = Settlement.Outcome.retry(at: Self.now + 1, attempts: 1, reason: "HTTP 400")
        #expect(
            consequences
                == DeliveryRound.Consequences(settlements: [
                    Settlement(of: batch[0], retry), Settlement(of: batch[1], .delivered),
                    Settlement(of: batch[2], .delivered),
                ])
        )
        #expect(!round.wantsMore)
        #expect(round.next()?.map(\.id) == ["b5", "c6"])
    }

    @Test("a batch that is rejected as a whole is halved until the faulty event is found")
    func halves() {
        var round = round([events("a1", "b2", "c3", "d4")], largest: 4)
        var sent: [[String]] = []
        var rejected: [String] = []
        while let batch = round.next() {
            sent.append(batch.map(\.id))
            let isTooLarge = batch.contains { $0.id == "c3" }
            let verdicts = [Verdict?](repeating: isTooLarge ? .split("413") : .delivered, count: batch.count)
            for settlement in answer(&round, batch, verdicts).settlements {
                if case .dropped = settlement.outcome { rejected.append(settlement.id) }
            }
        }
        #expect(sent == [["a1", "b2", "c3", "d4"], ["a1", "b2"], ["c3", "d4"], ["c3"], ["d4"]])
        #expect(rejected == ["c3"])
    }

    @Test("a missing answer ends the round and counts as an attempt of no event; a stop takes precedence over it")
    func failures() {
        var round = round([events("a1", "b2", "c3")])
        let batch = round.next() ?? []
        var consequences = answer(&round, batch, [.delivered, nil, .outage(after: .seconds(7), because: .patience)])
        #expect(consequences.settlements == [Settlement(of: batch[0], .delivered)])
        #expect(consequences.asked == .seconds(7))
        #expect(consequences.failure == .outage(.patience))
        let stop = ExperimentationError(.unauthorized, "no")
        consequences = answer(&round, batch, [.stop(stop), nil, .delivered])
        #expect(consequences.failure == .refused(stop))
    }

    @Test("a denial ends the round; the consent signal is still sent")
    func denial() {
        var round = round([events("a1", "b2"), events("c3")], largest: 2)
        #expect(round.concerns([ExactText("c")]) && !round.concerns([ExactText("d")]))
        #expect(round.next(leavingOut: [ExactText("a")])?.map(\.id) == ["b2"])
        #expect(round.hasPassedOver)
        round.end()
        #expect(round.isOver && round.next() == nil && !round.wantsMore)
        var signal = events("a9")
        signal[0].event = TrackingEvent(.consentChanged(granted: false))
        var signals = self.round([signal])
        #expect(signals.next(leavingOut: [ExactText("a")])?.map(\.id) == ["a9"])
    }

    @Test("events skipped because of a denial don't keep other users' events from being leased")
    func passedOver() {
        var round = round([events("a1", "a2")], largest: 2)
        #expect(round.next(leavingOut: [ExactText("a")]) == nil)
        #expect(round.wantsMore)
        round.add(Lease(token: Self.token, batches: [events("a3", "b4")]), largest: 2)
        // Even if the denial is no longer owed: they follow the events that were skipped.
        #expect(round.next()?.map(\.id) == ["b4"])
        #expect(round.hasPassedOver)
    }

    @Test("whatever the answers, each user's events are sent in order and none is settled twice", arguments: 0..<200)
    func anyAnswers(seed: Int) {
        let dice = Dice(seed)
        let all = (1...30).map { number in events("\(["a", "b", "c", "d"][dice.below(4)])\(number)")[0] }
        var batches: [[Envelope]] = []
        for event in all {
            if batches.last.map({ $0.count < 4 }) != true { batches.append([]) }
            batches[batches.count - 1].append(event)
        }
        var round = round(batches, largest: 4)
        var settled: [String: Int] = [:]
        var delivered: [String: Int64] = [:]
        while let batch = round.next() {
            // Adapters promise that no event of a user is accepted after a rejected one.
            var refused: Set<String> = []
            let verdicts = batch.map { event -> Verdict? in
                if refused.contains(event.identity.id) { return .split("behind another") }
                let verdict: Verdict = [.delivered, .delivered, .failed("x"), .rejected("y"), .split("z")][
                    dice.below(5)
                ]
                if verdict == .failed("x") || verdict == .split("z") { refused.insert(event.identity.id) }
                return verdict
            }
            for (event, settlement) in answer(&round, batch, verdicts).settlements.map({ settlement in
                (batch.first { $0.id == settlement.id }, settlement)
            }) {
                settled[settlement.id, default: 0] += 1
                guard let event, settlement.outcome == .delivered else { continue }
                #expect(event.sequence > delivered[event.identity.id, default: 0], "seed \(seed)")
                delivered[event.identity.id] = event.sequence
            }
        }
        #expect(settled.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    }
}
