import AdapterKit
import Experimentation
import HTTPTypes

/// The file of all campaigns: fetched if it has changed, decided by here.
struct BucketingSource: RulesetSource {
    let freshness: Freshness
    let requests: FlagshipRequests
    let client: HTTPClient
    let limits: HTTPLimits
    let rules: FlagshipRules
    let automatic: [String: FlagValue]
    let log: any LogSink

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let prepared = requests.bucketingFile(ifModifiedSince: validator)
        let reply = try await client.send(prepared.request, body: [], limits: limits)
        switch reply.status {
        case 304 where validator != nil: return .unchanged
        // Only this one status brings a file; even 204 doesn't.
        case 200: break
        default:
            throw FlagshipErrors.failure(of: reply, asking: "the bucketing file")
                ?? ExperimentationError(.vendorFault, "Flagship answered \(reply.status) without a bucketing file")
        }
        let file = try BucketingFile(try JSON.parse(reply.body))
        if file.isPanicking { return .disabled }
        if file.unreadable > 0 {
            log.log(.warning, "flagship.file", "\(file.unreadable) parts of the bucketing file can't be read")
        }
        // The date is handed on only with a file that could be read: one that is broken must not be confirmed by 304.
        return .replaced(
            BucketingRuleset(file, rules: rules, automatic: automatic),
            validator: reply.response.headerFields[.lastModified],
            raw: reply.body
        )
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        BucketingRuleset(try BucketingFile(try JSON.parse(raw)), rules: rules, automatic: automatic)
    }
}
