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
    /// Receives the account's settings, and failures.
    let reporter: FlagshipReporter?

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let message = try requests.campaigns(context.flagshipQuestion(automatic))
        let start = time.instant
        reporter?.note(context.visitor)
        let reply: HTTPReply
        do throws(ExperimentationError) {
            reply = try await client.send(message, limits: limits)
        } catch {
            reporter?.report(error, of: context.visitor)
            throw error
        }
        if let failure = FlagshipErrors.failure(of: reply, asking: "campaigns") {
            reporter?.report(.campaignsFailed, of: context.visitor, message.request, reply, since: start)
            throw failure
        }
        let answer: CampaignsAnswer
        do throws(ExperimentationError) {
            answer = try CampaignsAnswer(
                try FlagshipErrors.document(reply.body, named: "the Decision API's answer")
            )
        } catch {
            reporter?.report(error, of: context.visitor)
            throw error
        }
        observations.note(context)
        reporter?.note(answer.settings)
        return answer.isPanicking ? .disabled : .decided(answer.decisions)
    }
}

extension EvaluationContext {
    /// The visitor as named in reports.
    fileprivate var visitor: FlagshipReport.Visitor {
        FlagshipReport.Visitor(identity: user.identity, hasConsented: user.consent == .granted)
    }
}
