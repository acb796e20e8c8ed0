/// How much a store keeps at most.
public struct StoreLimits: Sendable, Hashable {
    /// How many events wait at most.
    public var maximumCount: Int
    /// How many bytes their written forms take at most; the files stay under one and a half times as many.
    public var maximumBytes: Int
    /// How many bytes one event may take.
    public var maximumEventBytes: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - maximumCount: How many events wait at most; as many as fit unless a number is given.
    ///   - maximumBytes: How many bytes their written forms take at most, about 400 each; less than a megabyte counts as
    ///     a megabyte.
    ///   - maximumEventBytes: How many bytes one event may take.
    public init(maximumCount: Int = .max, maximumBytes: Int = 100_000_000, maximumEventBytes: Int = 32_768) {
        self.maximumCount = max(1, maximumCount)
        self.maximumBytes = max(1_000_000, maximumBytes)
        self.maximumEventBytes = max(1, maximumEventBytes)
    }

    /// How many pages the database has at most, and how many of them are kept back so that a full one can still
    /// write down what became of its events.
    var pages: (most: Int, reserve: Int) {
        let most = maximumBytes / 4_096 * 32 / 25
        return (most, max(32, most / 32))
    }

    /// After how many pages the log is written back into the database.
    ///
    /// Seldom enough to cost little, and so few that a wait for the disk lasts milliseconds only.
    var logPages: Int { max(16, min(600, maximumBytes / 4_096 / 10)) }
}

/// What an accepted event survives.
public enum Durability: String, Sendable, Hashable, CaseIterable {
    /// The death of the process: what was accepted is in the hands of the operating system.
    case process
    /// The loss of power as well: what was accepted is on the disk. Each acceptance waits for the disk; callers at the
    /// same moment share one wait.
    case powerLoss

    /// The value of SQLite's `synchronous` that gives this.
    var synchronous: Int { self == .process ? 1 : 2 }
}
