import Experimentation
import GatewayBodies

extension Meanwhile {
    /// The users whose denial of consent waits here, even if they granted it later: a denial removes what came before
    /// it.
    ///
    /// - Throws: `ErrorCode.store`.
    func denied() async throws(ExperimentationError) -> [String] {
        guard count > 0 else { return [] }
        // By digest, which distinguishes ids that Swift treats as equal.
        var denied: [String: String] = [:]
        var last: Int64 = 0
        while let page = try await client.pageOfWaiting(after: &last) {
            for waiting in page {
                guard let event = Parcel(waiting.envelope.event)?.event,
                    case .consentChanged(false) = event.event.kind
                else { continue }
                denied[SeenEvents.digest(event.user.id)] = event.user.id
            }
        }
        return Array(denied.values)
    }
}
