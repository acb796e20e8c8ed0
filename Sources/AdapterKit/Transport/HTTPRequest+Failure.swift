import Experimentation
import HTTPTypes

extension HTTPRequest {
    /// Adds the host that was called to an error of this request: an adapter may have several hosts.
    ///
    /// Adds only the host, because a path may hold a user's id. Errors of requests that were abandoned or never sent
    /// stay as they are.
    package func failed(_ error: ExperimentationError) -> ExperimentationError {
        guard let authority, [.transport, .timeout, .tooLarge, .configuration].contains(error.code) else {
            return error
        }
        return error.about(authority)
    }
}
