import AdapterKit
import Experimentation
import Synchronization

/// Decisions by bulk evaluation: one request for all flags of a user, conditional on the last answer's validator.
final class OFREPDecisionSource: DecisionSource {
    /// The maximum number of requests for one question when changes are announced meanwhile.
    private static let rounds = 3

    let freshness: Freshness
    private let requests: OFREPRequests
    private let client: HTTPClient
    private let limits: HTTPLimits
    private let listener: OFREPListener?
    private let environment: ClientEnvironment
    private let state: Mutex<State>

    private struct State {
        var answers: OFREPAnswers
        var patience = OFREPPatience()
    }

    init(
        _ configuration: OFREPConfiguration,
        requests: OFREPRequests,
        client: HTTPClient,
        listener: OFREPListener?,
        environment: ClientEnvironment
    ) {
        freshness = Freshness(polling: configuration.changes == .polling ? configuration.pollingInterval : nil)
        self.requests = requests
        self.client = client
        limits = HTTPLimits(deadline: configuration.timeout)
        self.listener = listener
        self.environment = environment
        state = Mutex(State(answers: OFREPAnswers(limit: configuration.answerBytes)))
    }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let question = try context.ofrepQuestion
        var change = listener?.lastChange
        var decisions = try await ask(question, for: context.user.id, after: change)
        // The answer may predate a change announced during the request.
        for _ in 1..<Self.rounds {
            guard let later = listener?.lastChange, later.number != change?.number else { break }
            do throws(ExperimentationError) {
                decisions = try await ask(question, for: context.user.id, after: later)
            } catch {
                // The answer is good, and newer than what the client has.
                break
            }
            change = later
        }
        return .decided(decisions)
    }

    /// Removes the user's cached answer and streams.
    func forget(_ userID: String) {
        state.withLock { $0.answers.forget(userID) }
        listener?.forget(userID)
    }

    private func ask(
        _ question: [UInt8],
        for userID: String,
        after change: OFREPChange?
    ) async throws(ExperimentationError) -> Decisions {
        do throws(ExperimentationError) {
            return try await send(question, for: userID, after: change)
        } catch {
            if OFREPErrors.mayPass(error) {
                let end = state.withLock { $0.patience.end }
                listener?.noteFailure(of: question, of: userID, until: end)
            }
            throw error
        }
    }

    private func send(
        _ question: [UInt8],
        for userID: String,
        after change: OFREPChange?
    ) async throws(ExperimentationError) -> Decisions {
        // A validator is sent only with the question it was issued for, even if the server would confirm others with
        // it.
        let held = state.withLock { $0.answers.answer(to: question, of: userID) }
        // Without a held answer, the question isn't caused by an event.
        let event = held.flatMap { change?.event(since: $0.change) }
        let isConfirmable = held.map { $0.change >= change?.lastRenewal ?? 0 } ?? false
        let validator = isConfirmable ? held?.validator : nil
        let request = try requests.evaluation(unless: validator, after: event)
        var began = environment.time.instant
        let reply = try await client.send(limits: limits) { () throws(ExperimentationError) in
            began = environment.time.instant
            // Checked before each attempt, because the answer to another question may have asked for a wait meanwhile.
            if let objection = state.withLock({ $0.patience.objection(at: began) }) { throw objection }
            return HTTPMessage(request, body: question)
        }
        try note(reply, since: began, isConditional: validator != nil)
        if reply.status == 304, let held {
            listener?.noteAnswer(to: question, of: userID, at: change?.number ?? held.change)
            let isCurrent = state.withLock { $0.answers.confirm(question, of: userID, at: change?.number) }
            // The streams may have been closed since the answer arrived.
            if isCurrent { listen(to: held.streams, for: userID) }
            return held.decisions
        }
        let evaluation = try OFREPEvaluation(reply)
        for complaint in evaluation.complaints { environment.log.log(.warning, "ofrep.answer", complaint) }
        let decisions = evaluation.decisions
        listener?.noteAnswer(to: question, of: userID, at: change?.number ?? 0)
        state.withLock {
            $0.answers.keep(
                OFREPAnswers.Answer(
                    question: question,
                    validator: OFREPErrors.validator(of: reply),
                    decisions: decisions,
                    streams: evaluation.streams,
                    change: change?.number ?? 0,
                    weight: reply.body.count + question.count
                ),
                of: userID
            )
        }
        listen(to: evaluation.streams, for: userID)
        return decisions
    }

    /// Adopts a user's streams, unless the credentials have been refused meanwhile.
    private func listen(to streams: [OFREPStream.Announcement], for userID: String) {
        guard !state.withLock({ $0.patience.isRefused }) else { return }
        listener?.listen(to: streams, for: userID)
    }

    /// Throws unless the answer is good, and updates the wait before the next request.
    private func note(
        _ reply: HTTPReply,
        since start: ContinuousClock.Instant,
        isConditional: Bool
    ) throws(ExperimentationError) {
        let time = environment.time
        let failure = OFREPErrors.failure(of: reply, isConditional: isConditional)
        let isRefused = state.withLock { state in
            state.patience.note(reply, failure, since: start, at: time.instant, date: time.now)
            return state.patience.isRefused
        }
        // Refused credentials apply to the streams, too.
        if isRefused { listener?.close() }
        if let failure { throw failure }
    }
}
