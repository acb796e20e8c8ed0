/// The limits of a store.
public struct StoreLimits: Sendable, Hashable {
    /// The maximum number of waiting events.
    ///
    /// The rows of events that make room for others are deleted together: until then, another process that shares the
    /// file may see up to a 128th more.
    public var maximumCount: Int
    /// The maximum total size, in bytes, of the waiting events' stored forms; the files stay below one and a half times
    /// that.
    public var maximumBytes: Int
    /// The maximum size of one event in bytes.
    public var maximumEventBytes: Int

    /// The inverse of the share of a full store's events whose rows may wait to be deleted.
    package var evictedShare = 128

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - maximumCount: The maximum number of waiting events; by default as many as fit.
    ///   - maximumBytes: The maximum total size of their stored forms, about 400 bytes each; less than a megabyte
    ///     counts as a megabyte.
    ///   - maximumEventBytes: The maximum size of one event in bytes.
    public init(maximumCount: Int = .max, maximumBytes: Int = 100_000_000, maximumEventBytes: Int = 32_768) {
        self.maximumCount = max(1, maximumCount)
        self.maximumBytes = max(1_000_000, maximumBytes)
        self.maximumEventBytes = max(1, maximumEventBytes)
    }

    /// The maximum number of pages of the database, and how many of them are reserved so that a full one can still
    /// record what became of its events.
    var pages: (most: Int, reserve: Int) {
        let most = maximumBytes / 4_096 * 32 / 25
        return (most, max(32, most / 32))
    }

    /// After how many pages the log is written back into the database.
    ///
    /// Rarely enough to cost little, and few enough that waiting for the disk takes only milliseconds.
    var logPages: Int { max(16, min(600, maximumBytes / 4_096 / 10)) }
}

/// What an accepted event survives.
public enum Durability: String, Sendable, Hashable, CaseIterable {
    /// The death of the process: accepted events have been passed to the operating system.
    case process
    /// The loss of power as well: accepted events are on the disk. Each acceptance waits for the disk; simultaneous
    /// callers share one wait.
    case powerLoss

    /// The corresponding value of SQLite's `synchronous`.
    var synchronous: Int { self == .process ? 1 : 2 }
}
