import AdapterKit
import Experimentation
import HTTPTypes

/// A source that fetches the file of all campaigns if it has changed, for decisions on this device.
struct BucketingSource: RulesetSource {
    private static let name = "the bucketing file"

    let service: FlagshipService

    var freshness: Freshness { Freshness(polling: configuration.pollingInterval) }
    private var configuration: FlagshipConfiguration { service.configuration }
    private var reporter: FlagshipReporter? { service.reporter }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let message = service.requests.bucketingFile(ifModifiedSince: validator)
        let start = service.environment.time.instant
        let reply: HTTPReply
        do throws(ExperimentationError) {
            reply = try await service.client.send(
                message,
                limits: HTTPLimits(deadline: configuration.transferTimeout, responseBytes: 64 << 20),
                retry: configuration.retry
            )
        } catch {
            reporter?.report(error)
            throw error
        }
        switch reply.status {
        case 304 where validator != nil: return .unchanged
        // Only this status carries a file; even 204 doesn't.
        case 200: break
        default:
            reporter?.report(.fileFailed, message.request, reply, since: start)
            throw FlagshipErrors.failure(of: reply, asking: Self.name)
                ?? ExperimentationError(.vendorFault, "Flagship answered \(reply.status) without a bucketing file")
        }
        let file = try file(reply.body)
        reporter?.report(.file, message.request, reply, since: start)
        if file.isPanicking { return .disabled }
        // The date is stored only with a readable file: a 304 must not confirm a broken one.
        return .replaced(
            ruleset(of: file),
            validator: reply.response.headerFields[.lastModified],
            raw: reply.body
        )
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        ruleset(of: try file(raw))
    }

    private func ruleset(of file: CampaignsDocument) -> BucketingRuleset {
        let ruleset = BucketingRuleset(file, rules: configuration.rules, automatic: configuration.device.context)
        service.note(unreadable: ruleset.unreadable, in: Self.name)
        return ruleset
    }

    private func file(_ bytes: [UInt8]) throws(ExperimentationError) -> CampaignsDocument {
        do throws(ExperimentationError) {
            let file = try CampaignsDocument(bytes, named: Self.name)
            reporter?.note(file.settings ?? AccountSettings([:]))
            return file
        } catch {
            reporter?.report(error)
            throw error
        }
    }
}
