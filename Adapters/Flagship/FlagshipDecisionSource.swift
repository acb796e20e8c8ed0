import AdapterKit
import Experimentation

/// The Decision API: the vendor decides, and is asked for each visitor.
struct FlagshipDecisionSource: DecisionSource {
    /// Asked whenever somebody asks: the vendor names no time for which an answer is good.
    let freshness = Freshness()
    let requests: FlagshipRequests
    let client: HTTPClient
    let automatic: [String: FlagValue]
    let limits: HTTPLimits
    /// Told of each visitor's context, and of what the account is set to.
    let observations: FlagshipObservations

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let prepared = try requests.campaigns(context.flagshipQuestion(automatic))
        let reply = try await client.send(prepared.request, body: prepared.body, limits: limits)
        if let failure = FlagshipErrors.failure(of: reply, asking: "campaigns") { throw failure }
        let answer = try CampaignsAnswer(try JSON.parse(reply.body))
        observations.note(context, answer.settings)
        return answer.isPanicking ? .disabled : .decided(answer.decisions)
    }
}
