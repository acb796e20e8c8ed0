import Experimentation
import HTTPTypes

extension HTTPRequest {
    /// An error of sending this request, with the host that was asked: an adapter may have several.
    ///
    /// The host alone: a path may hold a user's id. A request that was given up or never sent says nothing of one.
    package func failed(_ error: ExperimentationError) -> ExperimentationError {
        guard let authority, [.transport, .timeout, .tooLarge, .configuration].contains(error.code) else {
            return error
        }
        return ExperimentationError(error.code, "\(authority): \(error.message)", cause: error.cause)
    }
}
