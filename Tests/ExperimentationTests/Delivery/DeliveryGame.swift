#if os(Linux)
    import ExperimentationTesting
    import Foundation
    import Synchronization

    @testable import Experimentation

    /// An outbox, and a random sequence of everything that can happen to it.
    final class DeliveryGame {
        /// A flush under way.
        struct Flush {
            var deadline: ContinuousClock.Instant
            var isPatient: Bool
            let hasEnded = Shared(false)
        }

        let dice: Dice
        let turns: TurnsByChance
        let time = InterruptedTime()
        let store = HeldStore()
        let sinks: [HeldSink]
        let outbox: Outbox
        private let denials = DeniedUsers()
        var flushes: [Flush] = []
        private var count = 0
        /// The events that may be held until their users consent, and then follow later ones.
        private(set) var unasked: Set<String> = []
        var isClosed = false
        var violations: [String] = []
        let failing: Int
        private let isClosing: Bool
        let mayHide: Bool

        init(_ turns: TurnsByChance, seed: Int) {
            let dice = Dice(seed)
            (self.turns, self.dice) = (turns, dice)
            turns.begin(dice)
            failing = [0, 5, 30][dice.below(3)]
            mayHide = dice.below(3) == 0
            isClosing = dice.below(5) == 0
            sinks = (0..<1 + dice.below(3)).map { [denials] _ in
                let policy = BatchPolicy(
                    count: 1 + dice.below(5),
                    largest: 1 + dice.below(4),
                    interval: .seconds(1 + dice.below(30)),
                    attempts: 1 + dice.below(3),
                    maximumAge: dice.below(4) == 0 ? .seconds(3_600) : nil
                )
                return HeldSink(policy, heedsCancellation: dice.below(3) > 0) { denials.begin($0) }
            }
            let environment = ClientEnvironment(time: time, jitter: { dice.fraction() })
            let routes = sinks.enumerated().map { index, sink in
                var route = EventRoute(
                    to: Destination(provider: "\(index)", account: "a"),
                    by: sink,
                    needsConsent: dice.below(2) == 0
                )
                route.heedsKillSwitch = dice.below(3) > 0
                return route
            }
            let kept = KeptState(store: store, of: routes[0].destination, log: environment.log)
            outbox = Outbox(
                store: store,
                kept: kept,
                routes: routes,
                environment: environment,
                events: DeliveryEvents()
            )
        }

        // MARK: Playing

        func play() {
            if dice.below(2) == 0 { store.isFree = true }
            Task { [outbox] in await outbox.resume() }
            for _ in 0..<(200 + dice.below(600)) {
                move()
                check()
            }
            end()
            violations += denials.violations.value
        }

        private func move() {
            switch dice.below(100) {
            case 0..<50: turns.next()
            case 50..<62:
                if store.held > 0 { store.release(dice.below(store.held), fate()) } else { turns.next() }
            case 62..<72: answer()
            case 72..<82: track()
            case 82..<84: changeConsent()
            case 84..<87: flush()
            case 87..<91:
                time.base.advance(by: .milliseconds(dice.below(3) == 0 ? dice.below(60_000) : dice.below(2_000)))
            case 91..<92: if let wait = time.base.untilNextWake { time.base.advance(by: wait) }
            case 92..<93:
                if dice.below(4) == 0 { time.base.setNow(time.base.now + Double(dice.below(14_400) - 7_200)) }
            case 93..<95: hold()
            case 95..<96:
                time.interrupt(1 + dice.below(5)) { [dice, outbox] in outbox.set(.offline, dice.below(2) == 0) }
            case 96..<97: store.isFree = dice.below(2) == 0
            case 97..<98: _ = turns.settle()
            case 98..<99:
                if dice.below(4) == 0 { Task { [outbox] in _ = try? await outbox.removeAll() } }
                if dice.below(4) == 0 { outbox.resumeAfterRefusal() }
            default:
                if isClosing, dice.below(4) == 0, !isClosed {
                    isClosed = true
                    let deadline = time.base.instant.advanced(by: .seconds(5))
                    Task { [outbox] in await outbox.close(by: deadline) }
                }
            }
        }

        private func fate() -> HeldStore.Fate {
            guard dice.below(100) < failing else { return .done }
            return mayHide && dice.below(2) == 0 ? .failsAfter : .failsBefore
        }

        private func answer() {
            let sink = sinks[dice.below(sinks.count)]
            guard let request = sink.requests.first else { return turns.next() }
            func verdict() -> Verdict? {
                switch dice.below(30) {
                case 0: nil
                case 1: .outage()
                case 2: .outage(after: .seconds(dice.below(30)))
                case 3: .failed("busy")
                case 4: .split("too large")
                case 5: .rejected("no")
                case 6: dice.below(3) == 0 ? .stop(ExperimentationError(.unauthorized, "no such key")) : .delivered
                default: .delivered
                }
            }
            let isDisabled = dice.below(30) == 0
            let all = verdict()
            let isMixed = dice.below(3) == 0
            // A vendor that accepts a user's later event and not the earlier one breaks the order itself.
            var verdicts: [String: Verdict?] = [:]
            for event in request.batch where verdicts[event.identity.id] == nil {
                verdicts[event.identity.id] = .some(isMixed ? verdict() : all)
            }
            let each = request.batch.map { verdicts[$0.identity.id] ?? nil }
            sink.answer(request, DeliveryReport(each, isDisabled: isDisabled))
        }

        private var userID: String { ["ada", "bob", "cyd"][dice.below(3)] }

        private func track() {
            count += 1
            let consent: Consent = dice.below(3) == 0 ? .unknown : .granted
            let envelope = Envelope(
                id: "\(count)",
                identity: Identity(id: userID),
                event: .numbered(count),
                date: time.base.now
            )
            if consent == .unknown { unasked.insert(envelope.id) }
            let isStated = dice.below(6) == 0
            if isStated, consent == .granted { denials.grant(envelope.identity.id) }
            if dice.below(3) == 0 {
                _ = outbox.note(envelope, consent: consent, isStated: isStated)
            } else {
                let ticket = outbox.enter(envelope, consent: consent, isStated: isStated)
                Task { [outbox] in try? await outbox.outcome(of: ticket) }
            }
        }

        private func changeConsent() {
            let userID = userID
            if dice.below(2) == 0 {
                denials.grant(userID)
                let ticket = outbox.enter(ConsentChange(userID: userID, isGranted: true))
                Task { [outbox] in try? await outbox.outcome(of: ticket) }
            } else {
                let ticket = outbox.enter(ConsentChange(userID: userID, isGranted: false))
                Task { [outbox, denials, sinks] in
                    do { try await outbox.deny(ticket, userID) } catch { return }
                    if ticket.denial?.isLastWord == true { denials.deny(userID, sinks.flatMap(\.requests)) }
                }
            }
        }

        private func hold() {
            let hold: DeliverySchedule.Holds = dice.below(2) == 0 ? .offline : .disabled
            outbox.set(hold, dice.below(3) == 0)
        }

        private func flush() {
            let deadline = time.base.instant.advanced(by: .seconds(dice.below(60)))
            let flush = Flush(deadline: deadline, isPatient: dice.below(2) == 0)
            flushes.append(flush)
            Task { [outbox] in
                _ = try? await outbox.flush(by: flush.deadline, isPatient: flush.isPatient)
                flush.hasEnded.value = true
            }
        }
    }
#endif
