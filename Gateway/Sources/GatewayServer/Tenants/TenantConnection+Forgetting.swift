import Experimentation
import ExperimentationPostgres

extension TenantConnection {
    /// Deletes the ids of events of past days, in the store and in the file.
    ///
    /// A failure in one doesn't keep the other from deleting.
    ///
    /// - Throws: `ErrorCode.store` or `ErrorCode.cancelled`, whichever occurred first; the next call continues.
    func forgetIDs() async throws(ExperimentationError) {
        var failures: [ExperimentationError] = []
        do throws(ExperimentationError) { try await meanwhile?.forget() } catch { failures.append(error) }
        if shared?.isAway != true {
            do throws(ExperimentationError) { try await intake.forget() } catch { failures.append(error) }
        }
        if let first = failures.first { throw first }
    }
}
