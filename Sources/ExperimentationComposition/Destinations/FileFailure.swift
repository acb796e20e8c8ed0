import Experimentation
import Foundation

/// Why a file couldn't be written.
struct FileFailure: Error, Sendable, Equatable {
    let step: String
    let code: Int32

    /// The system's message, without the path.
    var message: String { "the events' file can't be \(step): \(String(cString: strerror(code)))" }

    /// An outage if the disk is full or gone; a stop if the file's owner has to fix the cause.
    var verdict: Verdict {
        switch code {
        case EACCES, EPERM, EISDIR, ENOTDIR, EROFS, ENAMETOOLONG, ELOOP:
            .stop(ExperimentationError(.configuration, message))
        default: .outage(because: OutageReason(rawValue: message))
        }
    }
}
