import Foundation
import Synchronization

/// The only way into the store: a queue of events and changes of consent, in the order in which they were stated.
///
/// A statement joins the line without waiting, so that a caller can decide and state under a lock of its own. The
/// caller that finds the line empty carries it into the store; statements that arrive meanwhile join the next
/// transaction.
final class Intake: Sendable {
    /// What to store.
    enum Statement: Sendable {
        case event(NewEvent)
        case consent(ConsentChange)
        /// Nothing: it is answered once everything before it is stored.
        case mark
    }

    /// A place in the line.
    struct Ticket: Sendable {
        let answer: Answer
        /// The denial of consent that was stated, if it was one.
        let denial: StandingDenial?
        /// Whether the holder carries the line.
        let isCarrier: Bool
    }

    struct Entry: Sendable {
        var statement: Statement
        /// Whether no caller waits, so that the entry may stay in line while it can't be stored.
        var isNoted: Bool
        var answer: Answer

        /// Whether it stays in line while the store fails.
        var mayWait: Bool { isNoted && statement.event != nil }
    }

    struct State {
        var line = IntakeLine<Entry>()
        var isCarried = false
        /// Answers the callers of the previous transaction.
        var telling: Task<Void, Never>?
        var isClosed = false
        var denials = StandingDenials()
    }

    /// The maximum number of entries in one transaction.
    static let mostAtOnce = 512
    /// The number of callers up to which they are answered before the next transaction begins, and one of them carries
    /// the line on: resuming so few takes no time.
    static let few = 8
    /// The maximum number of noted events that wait for a failing store.
    static let mostNoted = 10_000

    let store: any OutboxStore
    let owed: OwedDenials
    let environment: ClientEnvironment
    /// Called with the events that were accepted, and with none when held ones were released; must be quick.
    let stored: @Sendable ([NewEvent]) -> Void
    let state = Mutex(State())

    init(
        store: any OutboxStore,
        owed: OwedDenials,
        environment: ClientEnvironment,
        stored: @escaping @Sendable ([NewEvent]) -> Void
    ) {
        self.store = store
        self.owed = owed
        self.environment = environment
        self.stored = stored
    }

    // MARK: Statements

    /// Takes a place in the line; the caller then waits for ``outcome(of:)``.
    func enter(_ statement: Statement) -> Ticket {
        let (denial, answer) = (statement.isDenial ? StandingDenial() : nil, Answer())
        if let ticket = enter(statement, isNoted: false, denial, answer) { return ticket }
        // A denial has no place in the closed line, but is carried out nevertheless.
        if let denial, let change = statement.change { state.withLock { $0.denials.deny(denial, of: change.userID) } }
        answer.give(.failure(.shutDown))
        return Ticket(answer: answer, denial: denial, isCarrier: false)
    }

    /// Takes a place in the line for a caller that can't wait.
    ///
    /// - Parameters:
    ///   - statement: What to write down.
    ///   - denial: The denial, if it is one with consequences.
    ///   - ended: Called with the outcome, by the task that carries the line; must be quick. Not called once the line
    ///     is closed.
    /// - Returns: Whether it has a place: the line isn't closed.
    @discardableResult
    func note(
        _ statement: Statement,
        _ denial: StandingDenial? = nil,
        ended: @escaping @Sendable (Result<ConsentOutcome, ExperimentationError>) -> Void = { _ in }
    ) -> Bool {
        let answer = Answer()
        // Set the listener before the answer can be given: the caller may hold the lock that the listener needs.
        answer.whenGiven(ended)
        guard let ticket = enter(statement, isNoted: true, denial, answer) else { return false }
        if ticket.isCarrier { Task { await carry() } }
        return true
    }

    /// Takes a place in the line; `nil` if it is closed.
    private func enter(
        _ statement: Statement,
        isNoted: Bool,
        _ denial: StandingDenial?,
        _ answer: Answer
    ) -> Ticket? {
        state.withLock { state in
            if state.isClosed { return nil }
            if let user = statement.consenting { state.denials.grant(user) }
            if let denial, let change = statement.change { state.denials.deny(denial, of: change.userID) }
            state.line.append(Entry(statement: statement, isNoted: isNoted, answer: answer))
            defer { state.isCarried = true }
            return Ticket(answer: answer, denial: denial, isCarrier: !state.isCarried)
        }
    }

    /// Whether the user's latest choice in this run, in any session, is a denial.
    func isDenied(by userID: String) -> Bool { state.withLock { $0.denials.contain(userID) } }

    /// Forgets a denial's consequences, because they are carried out or owed.
    func end(_ denial: StandingDenial, of userID: String) {
        state.withLock { $0.denials.end(denial, of: ExactText(userID)) }
    }

    /// Waits until the statement is in the store, or has failed.
    ///
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store throws.
    @discardableResult
    func outcome(of ticket: Ticket) async throws(ExperimentationError) -> ConsentOutcome {
        if ticket.isCarrier { await carry(for: ticket.answer) }
        while true {
            switch await ticket.answer.word {
            case .outcome(let outcome): return try outcome.get()
            case .carry: await carry(for: ticket.answer)
            }
        }
    }

    /// Waits until every earlier statement is in the store, or was refused by it.
    ///
    /// - Throws: ``ErrorCode/shutDown``, and what the store throws while it accepts nothing.
    func untilStored() async throws(ExperimentationError) { _ = try await outcome(of: enter(.mark)) }

    /// Waits until every earlier statement is in the store, or couldn't be stored.
    func drain() async { try? await untilStored() }

    /// Refuses statements from now on, and tries once more those for which the store has failed.
    func close() {
        let isLeft = state.withLock { state in
            state.isClosed = true
            if state.isCarried || state.line.isEmpty { return false }
            state.isCarried = true
            return true
        }
        if isLeft { Task { await carry() } }
    }
}
