import AdapterKit
import Experimentation

/// The Decision API: the vendor decides, and the adapter asks it for each visitor.
struct FlagshipDecisionSource: DecisionSource {
    /// Every refresh asks the vendor, which doesn't say how long an answer is valid.
    let freshness = Freshness()
    let service: FlagshipService

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let watch = service.removals.watch(context.user.id)
        let (configuration, reporter) = (service.configuration, service.reporter)
        let start = service.environment.time.instant
        let user = context.user
        let visitor = FlagshipReport.Visitor(identity: user.identity, hasConsented: user.consent == .granted)
        reporter?.note(visitor)
        func question() throws(ExperimentationError) -> HTTPMessage {
            var context = context
            if watch.isRemoved { context.user.consent = .denied }
            return try service.requests.campaigns(context.flagshipQuestion(configuration.device.context))
        }
        var refusal: HTTPReply?
        let answer: CampaignsDocument
        do throws(ExperimentationError) {
            let reply = try await service.client.send(
                limits: HTTPLimits(deadline: configuration.timeout),
                retry: configuration.retry,
                each: question
            )
            if let failure = FlagshipErrors.failure(of: reply, asking: "campaigns") {
                refusal = reply
                throw failure
            }
            answer = try CampaignsDocument(reply.body, named: "the Decision API's answer")
        } catch {
            if watch.isRemoved { throw error }
            if let refusal {
                reporter?.report(.campaignsFailed, of: visitor, try question().request, refusal, since: start)
            } else {
                reporter?.report(error, of: visitor)
            }
            throw error
        }
        if !watch.isRemoved { service.observations.note(context) }
        reporter?.note(answer.settings)
        if answer.isPanicking { return .disabled }
        let campaigns = answer.campaigns.compactMap { DecidedCampaign($0) }
        service.note(unreadable: answer.campaigns.count - campaigns.count, in: "the Decision API's answer")
        return .decided(campaigns.decisions)
    }
}
