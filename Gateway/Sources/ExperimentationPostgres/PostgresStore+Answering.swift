import Experimentation
import Foundation

extension PostgresStore {
    /// Whether a database accepts connections, whatever it contains.
    ///
    /// After ``open(_:options:)`` has failed, this distinguishes a database that is away from one that was read and
    /// refused.
    ///
    /// - Parameters:
    ///   - url: The database, in libpq's format.
    ///   - patience: How long to wait for it.
    /// - Returns: Whether it answers a statement; `false` also for an invalid URL.
    public static func answers(_ url: String, within patience: Duration = .seconds(2)) async -> Bool {
        guard let address = try? PostgresAddress(url) else { return false }
        return await withCheckedContinuation { continuation in
            // On a thread of its own, because waiting for a socket blocks it.
            Thread.detachNewThread {
                let deadline = Deadline(patience)
                do throws(ConnectionFailure) {
                    let connection = try Connection.opened(to: address, by: deadline)
                    _ = try connection.run([Statement("SELECT 1")], by: deadline)
                    continuation.resume(returning: true)
                } catch {
                    continuation.resume(returning: false)
                }
            }
        }
    }
}
