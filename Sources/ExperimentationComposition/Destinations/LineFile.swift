import Dispatch
import Experimentation
import Foundation

/// A file of lines that is only ever longer, and is put aside when it is long or old enough.
///
/// What blocks runs on a queue of its own; it isn't waited for by the few threads that all tasks share.
final class LineFile: Sendable {
    /// How writing ended.
    enum Outcome: Sendable, Equatable {
        case written
        case failed(FileFailure)
    }

    private let queue = DispatchQueue(label: "events-file")
    private let open: OpenFile

    /// Creates a file; nothing is opened before there is something to write.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - patience: For how many milliseconds the reader of a pipe may take nothing before that is an outage.
    init(_ configuration: FileConfiguration, patience: Int32 = 1_000) {
        open = OpenFile(configuration, patience: patience)
    }

    /// Writes whole lines, and waits until they are on the disk.
    func append(_ lines: [UInt8], at now: Date) async -> Outcome {
        await withCheckedContinuation { continuation in
            queue.async { [open] in
                do throws(FileFailure) {
                    try open.append(lines, at: now)
                    continuation.resume(returning: .written)
                } catch {
                    continuation.resume(returning: .failed(error))
                }
            }
        }
    }

    /// Closes the file once what is under way is written.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [open] in
                open.close()
                continuation.resume()
            }
        }
    }
}

/// Why a file couldn't be written.
struct FileFailure: Error, Sendable, Equatable {
    let step: String
    let code: Int32

    /// The system's reason, without the path.
    var message: String { "the events' file can't be \(step): \(String(cString: strerror(code)))" }

    /// A disk that is full or gone may come back; what the file's owner has to mend stops everything until it is mended.
    var verdict: Verdict {
        switch code {
        case EACCES, EPERM, EISDIR, ENOTDIR, EROFS, ENAMETOOLONG, ELOOP:
            .stop(ExperimentationError(.configuration, message))
        default: .outage(because: OutageReason(rawValue: message))
        }
    }
}
