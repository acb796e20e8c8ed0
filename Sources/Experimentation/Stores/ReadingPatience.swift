import Synchronization

/// How long to keep trying to read what a store can't read at first.
///
/// A value that can't be read for a moment, as while another process has the store locked, isn't necessarily missing.
///
/// All reads that share it have 200 milliseconds together, so that a store which stays unreadable holds up a client's
/// start only once.
package final class ReadingPatience: Sendable {
    private static let limit = Duration.milliseconds(200)
    /// The pause between two attempts.
    private static let pause = Duration.milliseconds(20)

    private let time: any TimeSource
    private let left = Mutex(ReadingPatience.limit)

    /// Creates patience for the reads to come.
    package init(by time: any TimeSource) { self.time = time }

    /// Reads, and tries again as long as the store fails and patience is left.
    ///
    /// - Throws: What the store throws after that.
    package func read<Value>(
        _ read: () async throws(ExperimentationError) -> Value
    ) async throws(ExperimentationError) -> Value {
        let began = time.instant
        let limit = left.withLock { $0 }
        var hasFailed = false
        // A store that is slow but works uses up no patience.
        defer { if hasFailed { left.withLock { $0 -= began.duration(to: time.instant) } } }
        while true {
            do throws(ExperimentationError) { return try await read() } catch {
                hasFailed = true
                guard began.duration(to: time.instant) < limit, (try? await time.sleep(for: Self.pause)) != nil else {
                    throw error
                }
            }
        }
    }
}
