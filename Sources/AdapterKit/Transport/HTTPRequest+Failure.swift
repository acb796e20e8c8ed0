import Experimentation
import HTTPTypes

extension HTTPRequest {
    /// Adds the host that was called to an error of this request: an adapter may have several hosts.
    ///
    /// Only the host: a path may hold a user's id. Requests that were abandoned or never sent get none.
    package func failed(_ error: ExperimentationError) -> ExperimentationError {
        guard let authority, [.transport, .timeout, .tooLarge, .configuration].contains(error.code) else {
            return error
        }
        return error.about(authority)
    }
}
