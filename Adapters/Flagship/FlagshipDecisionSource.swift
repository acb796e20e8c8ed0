import AdapterKit
import Experimentation

/// The Decision API: the vendor decides, and is asked for each visitor.
struct FlagshipDecisionSource: DecisionSource {
    /// Every refresh asks the vendor, which doesn't say how long an answer is valid.
    let freshness = Freshness()
    let requests: FlagshipRequests
    let client: HTTPClient
    let automatic: [String: FlagValue]
    let limits: HTTPLimits
    let time: any TimeSource
    /// Receives each visitor's context.
    let observations: FlagshipObservations
    /// Knows who has withdrawn consent while the vendor is being asked.
    let removals: UserRemovals
    /// Receives the account's settings, and failures.
    let reporter: FlagshipReporter?

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        try await removals.watching(context.user.id) { watch throws(ExperimentationError) in
            try await decisions(for: context, watch)
        }
    }

    private func decisions(
        for context: EvaluationContext,
        _ watch: UserRemovals.Watch
    ) async throws(ExperimentationError) -> DecisionAnswer {
        let start = time.instant
        reporter?.note(context.visitor)
        func question() throws(ExperimentationError) -> HTTPMessage {
            var context = context
            if watch.isRemoved { context.user.consent = .denied }
            return try requests.campaigns(context.flagshipQuestion(automatic))
        }
        var permitted: FlagshipReporter? { watch.isRemoved ? nil : reporter }
        let reply: HTTPReply
        do throws(ExperimentationError) {
            reply = try await client.send(limits: limits, each: question)
        } catch {
            permitted?.report(error, of: context.visitor)
            throw error
        }
        if let failure = FlagshipErrors.failure(of: reply, asking: "campaigns") {
            let request = try question().request
            permitted?.report(.campaignsFailed, of: context.visitor, request, reply, since: start)
            throw failure
        }
        let answer: CampaignsAnswer
        do throws(ExperimentationError) {
            answer = try CampaignsAnswer(
                try FlagshipErrors.document(reply.body, named: "the Decision API's answer")
            )
        } catch {
            permitted?.report(error, of: context.visitor)
            throw error
        }
        if !watch.isRemoved { observations.note(context) }
        reporter?.note(answer.settings)
        return answer.isPanicking ? .disabled : .decided(answer.campaigns.decisions)
    }
}

extension EvaluationContext {
    /// The visitor as named in reports.
    fileprivate var visitor: FlagshipReport.Visitor {
        FlagshipReport.Visitor(identity: user.identity, hasConsented: user.consent == .granted)
    }
}
