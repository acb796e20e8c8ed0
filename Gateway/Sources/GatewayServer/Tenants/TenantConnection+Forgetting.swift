import Experimentation
import ExperimentationPostgres

extension TenantConnection {
    /// Deletes the ids of events of past days, in the store and in the file.
    ///
    /// - Throws: `ErrorCode.store`, and `ErrorCode.cancelled`; the next call continues.
    func forgetIDs() async throws(ExperimentationError) {
        try await meanwhile?.forget()
        if shared?.isAway != true { try await intake.forget() }
    }
}
