import Foundation
import Synchronization

/// The one way into the store: events and changes of consent, in the order in which they were said.
///
/// What is said takes its place at once and without waiting, so that a caller can decide and say it under a lock of its
/// own. The first in an empty line carries the line into the store; what comes meanwhile goes along in the next
/// transaction.
final class Intake: Sendable {
    /// What is to be written down.
    enum Statement: Sendable {
        case event(NewEvent)
        case consent(ConsentChange)
        /// Nothing: its turn has come when everything before it is stored.
        case mark
    }

    /// A place in the line.
    struct Ticket: Sendable {
        let answer: Answer
        /// Whether the holder carries the line.
        let isCarrier: Bool
    }

    struct Entry: Sendable {
        var statement: Statement
        /// Whether no caller waits: what can't be stored then stays in the line for a while.
        var isNoted: Bool
        var answer: Answer
    }

    struct State {
        var line: [Entry] = []
        var isCarried = false
        var isClosed = false
    }

    /// How many go into one transaction at most.
    static let mostAtOnce = 512
    /// How many noted events wait at most for a store that fails.
    static let mostNoted = 10_000

    let store: any OutboxStore
    let owed: OwedDenials
    let environment: ClientEnvironment
    /// Told of the events that were accepted, and with none of them that held ones were released.
    let stored: @Sendable ([NewEvent]) async -> Void
    let state = Mutex(State())

    init(
        store: any OutboxStore,
        owed: OwedDenials,
        environment: ClientEnvironment,
        stored: @escaping @Sendable ([NewEvent]) async -> Void
    ) {
        self.store = store
        self.owed = owed
        self.environment = environment
        self.stored = stored
    }

    // MARK: Saying

    /// Takes a place in the line; the caller then waits for ``outcome(of:)``.
    func enter(_ statement: Statement) -> Ticket { enter(statement, isNoted: false) }

    /// Takes a place in the line for a caller that can't wait.
    ///
    /// - Parameters:
    ///   - statement: What is said.
    ///   - ended: Called with the outcome, by the task that carries the line; quick. Not called once the line is closed.
    func note(
        _ statement: Statement,
        ended: @escaping @Sendable (Result<ConsentOutcome, ExperimentationError>) -> Void = { _ in }
    ) {
        let answer = Answer()
        // Before it can be given: the caller that notes something may hold the lock that the listener needs.
        answer.whenGiven(ended)
        let ticket = enter(statement, isNoted: true, answer)
        if ticket.isCarrier { Task { await carry() } }
    }

    func enter(_ statement: Statement, isNoted: Bool, _ answer: Answer = Answer()) -> Ticket {
        let isCarrier = state.withLock { state -> Bool? in
            if state.isClosed { return nil }
            state.line.append(Entry(statement: statement, isNoted: isNoted, answer: answer))
            defer { state.isCarried = true }
            return !state.isCarried
        }
        if isCarrier == nil, !isNoted {
            answer.give(.failure(ExperimentationError(.shutDown, "The client has been shut down.")))
        }
        return Ticket(answer: answer, isCarrier: isCarrier ?? false)
    }

    /// Waits until what was said is in the store, or isn't going to be.
    ///
    /// - Throws: ``ErrorCode/shutDown``, ``ErrorCode/consentDenied``, and what the store says.
    @discardableResult
    func outcome(of ticket: Ticket) async throws(ExperimentationError) -> ConsentOutcome {
        if ticket.isCarrier { await carry(for: ticket.answer) }
        return try await ticket.answer.value.get()
    }

    /// Waits until everything that was said before is in the store, or was refused by it.
    ///
    /// - Throws: ``ErrorCode/shutDown``, and what the store says while it takes nothing.
    func untilStored() async throws(ExperimentationError) { _ = try await outcome(of: enter(.mark)) }

    /// Waits until everything that was said before is in the store, or couldn't be stored.
    func drain() async { try? await untilStored() }

    /// Refuses what is said from now on.
    func close() { state.withLock { $0.isClosed = true } }
}
