#if os(Linux)
    import ExperimentationTesting
    import Foundation

    @testable import Experimentation

    /// What must be true of an outbox at any time, and at the end.
    extension DeliveryGame {
        func expect(_ isSo: Bool, _ what: @autoclosure () -> String) { if !isSo { violations.append(what()) } }

        /// Runs something to its end.
        func result<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) -> Value? {
            let result = Shared<Value?>(nil)
            Task { result.value = try? await work() }
            expect(turns.settle(), "there is always something to do")
            return result.value
        }

        func check() {
            guard turns.isSettled, store.held == 0 else { return }
            let isIdle = sinks.allSatisfy(\.requests.isEmpty)
            for flush in flushes where !flush.hasEnded.value {
                let late = flush.deadline.advanced(by: Outbox.leastForStatus)
                expect(time.base.instant < late, "a flush doesn't end at its deadline")
                expect(!isIdle || flush.isPatient, "a flush waits for nothing")
            }
            flushes.removeAll { $0.hasEnded.value }
            if isIdle, failing == 0 { checkLanes() }
        }

        /// No owner holds a lane without sending: another process would wait for it.
        private func checkLanes() {
            for destination in outbox.destinations {
                let isFree = result { [store, time] in try await store.base.isFree(destination, at: time.base.now) }
                expect(isFree == true, "the lane of \(destination) is leased, and nothing is sent")
            }
        }

        func end() {
            store.isFree = true
            for sink in sinks { sink.free() }
            for _ in 0..<5 { _ = time.instant }
            // A noted event that the store didn't take waits for the next statement.
            _ = result { [outbox] in await outbox.drain() }
            outbox.set(.offline, false)
            outbox.set(.disabled, false)
            if !isClosed { untilDelivered() }
            _ = turns.settle()
            check()
            for (sink, deliverer) in zip(sinks, outbox.deliverers) {
                let ledger = result { [store] in try await store.ledger(of: deliverer.destination) } ?? Ledger()
                let status = result { [store, time] in
                    try await store.status(of: deliverer.destination, now: time.base.now)
                }
                expect(ledger.isBalanced, "\(ledger)")
                expect(
                    ledger.pending == (status?.deliverable ?? 0) + (status?.held ?? 0),
                    "\(ledger), \(String(describing: status))"
                )
                var last: [String: Int64] = [:]
                var seen: Set<String> = []
                for event in sink.received where seen.insert(event.id).inserted && !unasked.contains(event.id) {
                    expect(
                        last[event.identity.id, default: 0] < event.sequence,
                        "\(event.id) is delivered out of order"
                    )
                    last[event.identity.id] = event.sequence
                }
                if failing == 0 { expect(seen.count == sink.received.count, "an event is delivered twice") }
            }
        }

        /// Lets time pass until nothing deliverable waits.
        func untilDelivered() {
            for _ in 0..<5_000 {
                expect(turns.settle(), "there is always something to do")
                let waiting = outbox.destinations.filter { destination in
                    let status = result { [store, time] in try await store.status(of: destination, now: time.base.now) }
                    return status?.deliverable != 0
                }
                if waiting.isEmpty { return }
                guard let wait = time.base.untilNextWake else {
                    return expect(false, "no lane takes care of what waits for \(waiting)")
                }
                time.base.advance(by: wait)
            }
            expect(false, "what waits is never delivered")
        }
    }

    /// The users whose denial has been carried out: no vendor may get anything of theirs.
    final class DeniedUsers: Sendable {
        private let users = Shared<Set<String>>([])
        let violations = Shared<[String]>([])

        func deny(_ userID: String, _ requests: [HeldSink.Request]) {
            users.change { $0.insert(userID) }
            for request in requests { begin(request.batch) }
        }
        func grant(_ userID: String) { users.change { $0.remove(userID) } }
        func begin(_ batch: [Envelope]) {
            let denied = users.value
            for event in batch where denied.contains(event.identity.id) && !event.event.isConsentSignal {
                violations.change { $0.append("\(event.id) of \(event.identity.id) is sent after a denial") }
            }
        }
    }
#endif
