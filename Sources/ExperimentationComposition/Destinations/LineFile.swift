import Dispatch
import Experimentation
import Foundation

/// An append-only file of lines that is rotated by size and age.
///
/// Blocking calls run on a dispatch queue of its own, outside the cooperative thread pool.
final class LineFile: Sendable {
    /// The result of a write.
    enum Outcome: Sendable, Equatable {
        case written
        case failed(FileFailure)
    }

    private let queue = DispatchQueue(label: "events-file")
    private let open: OpenFile

    /// Creates a file; opens nothing before the first write.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - patience: How long the reader of a pipe may stall before it counts as an outage, in milliseconds.
    init(_ configuration: FileConfiguration, patience: Int32 = 1_000) {
        open = OpenFile(configuration, patience: patience)
    }

    /// Appends whole lines and syncs them to disk.
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

    /// Closes the file after pending writes.
    func close() async {
        await withCheckedContinuation { continuation in
            queue.async { [open] in
                open.close()
                continuation.resume()
            }
        }
    }
}
