import Experimentation
import ExperimentationPostgres

extension TenantConnection {
    /// Deletes the ids of events of past days, in the store and in the file.
    ///
    /// One that fails doesn't keep the other from it.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled`, of whichever failed first; the next call continues.
    func forgetIDs() async throws(ExperimentationError) {
        var failures: [ExperimentationError] = []
        do throws(ExperimentationError) { try await meanwhile?.forget() } catch { failures.append(error) }
        if shared?.isAway != true {
            do throws(ExperimentationError) { try await intake.forget() } catch { failures.append(error) }
        }
        if let first = failures.first { throw first }
    }
}
