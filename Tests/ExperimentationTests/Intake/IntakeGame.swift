#if os(Linux)
    import ExperimentationTesting
    import Foundation
    import Synchronization

    @testable import Experimentation

    /// A line into the store that gets random statements, while the store is randomly slow and fails.
    final class IntakeGame {
        typealias Outcome = Answer.Outcome

        /// The statements.
        enum Kind: Equatable {
            case event(grants: Bool, isLarge: Bool)
            case consent(isGranted: Bool)
            case mark
        }

        /// A statement and its outcome.
        struct Stated {
            var number: Int
            var userID: String
            var kind: Kind
            var isNoted: Bool
            /// The outcomes that its caller got; one, if all is well.
            let outcomes = Shared<[Outcome]>([])
        }

        private static let destination = Destination(provider: "scripted", account: "a")

        let dice: Dice
        let turns: TurnsByChance
        let store: HeldStore
        let owed: OwedDenials
        let intake: Intake
        /// Whether a call of the store may fail although it is carried out.
        let mayHide: Bool
        /// Whether events may be too large.
        let mayBeLarge: Bool
        /// How many of a hundred calls of the store fail.
        private let failing: Int
        private(set) var stated: [Stated] = []
        private var callers: [Task<Void, Never>] = []
        private var lastWord: [String: Bool] = [:]
        private var isClosed = false
        private(set) var violations: [String] = []

        init(_ turns: TurnsByChance, seed: Int) {
            self.turns = turns
            dice = Dice(seed)
            turns.begin(dice)
            mayHide = dice.below(3) == 0
            mayBeLarge = dice.below(2) == 0
            failing = [0, 5, 40][dice.below(3)]
            store = HeldStore(isJoined: dice.below(2) == 0)
            let environment = ClientEnvironment(time: ManualTime())
            let kept = KeptState(store: store, of: Self.destination, log: environment.log)
            owed = OwedDenials(store: store, kept: kept, log: environment.log)
            intake = Intake(store: store, owed: owed, environment: environment) { _ in }
        }

        // MARK: Playing

        /// Plays to the end.
        func play() {
            for _ in 0..<(100 + dice.below(300)) {
                move()
                check()
            }
            store.isFree = true
            expect(turns.settle(), "there is always something to do")
            if !isClosed { state(.mark, by: "ada", isNoted: false) }
            expect(turns.settle(), "there is always something to do at the end")
            Task { [owed] in try? await owed.carryOut() }
            _ = turns.settle()
            for one in stated where one.outcomes.value.count != 1 {
                violations.append("\(one) got \(one.outcomes.value.count) outcomes")
            }
            compare()
        }

        private func move() {
            switch dice.below(100) {
            case 0..<55: turns.next()
            case 55..<75:
                if store.held > 0 { store.release(dice.below(store.held), fate()) } else { turns.next() }
            case 75..<93: state(kind(), by: ["ada", "bob", "cyd"][dice.below(3)], isNoted: dice.below(2) == 0)
            case 93..<95:
                for _ in 0..<dice.below(2 * Intake.few) { state(kind(), by: "ada", isNoted: dice.below(4) == 0) }
            case 95..<97: callers.randomElement(by: dice)?.cancel()
            case 97..<98: Task { [owed] in try? await owed.carryOut() }
            case 98..<99: _ = turns.settle()
            default:
                guard dice.below(8) == 0 else { return }
                isClosed = true
                intake.close()
            }
        }

        private func fate() -> HeldStore.Fate {
            guard dice.below(100) < failing else { return .done }
            return mayHide && dice.below(2) == 0 ? .failsAfter : .failsBefore
        }

        private func kind() -> Kind {
            switch dice.below(10) {
            case 0: .mark
            case 1: .consent(isGranted: true)
            case 2: .consent(isGranted: false)
            default: .event(grants: dice.below(5) == 0, isLarge: mayBeLarge && dice.below(8) == 0)
            }
        }

        private func state(_ kind: Kind, by userID: String, isNoted: Bool) {
            let one = Stated(number: stated.count, userID: userID, kind: kind, isNoted: isNoted)
            let denial = kind == .consent(isGranted: false) ? StandingDenial() : nil
            let statement = statement(one)
            if isNoted {
                let isInLine = intake.note(statement, denial) { [intake] outcome in
                    one.outcomes.change { $0.append(outcome) }
                    if let denial { Task { intake.end(denial, of: userID) } }
                }
                expect(isInLine != isClosed, "a statement is noted unless the line is closed")
                if !isInLine { return }
            } else {
                let ticket = intake.enter(statement)
                callers.append(
                    Task { [intake] in
                        let outcome: Outcome
                        do throws(ExperimentationError) {
                            outcome = .success(try await intake.outcome(of: ticket))
                        } catch {
                            outcome = .failure(error)
                        }
                        if let denial = ticket.denial { intake.end(denial, of: userID) }
                        one.outcomes.change { $0.append(outcome) }
                    }
                )
            }
            stated.append(one)
            switch kind {
            case .event(true, _) where !isClosed: lastWord[userID] = true
            case .consent(let isGranted) where !isClosed || !isGranted: lastWord[userID] = isGranted
            default: break
            }
            expect(intake.isDenied(by: userID) == (lastWord[userID] == false), "the last word of \(userID) counts")
        }

        private func statement(_ one: Stated) -> Intake.Statement {
            switch one.kind {
            case .mark: return .mark
            case .consent(let isGranted): return .consent(ConsentChange(userID: one.userID, isGranted: isGranted))
            case .event(let grants, let isLarge):
                let text = String(repeating: "x", count: isLarge ? 3_000 : 1)
                let envelope = Envelope(
                    id: "\(one.number)",
                    identity: Identity(id: one.userID),
                    event: .custom("said", attributes: ["text": .string(text)]),
                    date: .distantPast
                )
                return .event(NewEvent(envelope, to: Self.destination, grantsConsent: grants))
            }
        }

        // MARK: Checking

        func expect(_ isSo: Bool, _ what: @autoclosure () -> String) { if !isSo { violations.append(what()) } }

        /// Nothing hangs: while the store is idle and no caller has a turn, only noted events wait for which the store
        /// has failed.
        private func check() {
            guard store.held == 0, turns.isSettled else { return }
            let (isCarried, line) = intake.state.withLock { ($0.isCarried, $0.line.count) }
            expect(!isCarried, "a line of \(line) stands still")
            for one in stated where one.outcomes.value.isEmpty {
                expect(one.isNoted && one.kind != .mark && !isClosed, "\(one) waits for nothing")
            }
        }
    }

    extension Array {
        fileprivate func randomElement(by dice: Dice) -> Element? { isEmpty ? nil : self[dice.below(count)] }
    }
#endif
