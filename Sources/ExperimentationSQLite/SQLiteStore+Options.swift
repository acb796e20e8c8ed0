extension SQLiteStore {
    /// How a store behaves.
    ///
    /// ```swift
    /// let store = try await ClientStore.sqlite(at: url, options: .init(durability: .powerLoss))
    /// ```
    public struct Options: Sendable, Hashable {
        /// What accepted events survive.
        public var durability: Durability
        /// How much is kept.
        public var limits: StoreLimits
        /// How long to wait for another process that has the file locked.
        public var busyTimeout: Duration

        /// Creates options.
        ///
        /// - Parameters:
        ///   - durability: What accepted events survive; the death of the process unless more is asked for.
        ///   - limits: How much is kept; a hundred megabytes unless something else is said.
        ///   - busyTimeout: How long to wait for another process that has the file locked.
        public init(
            durability: Durability = .process,
            limits: StoreLimits = StoreLimits(),
            busyTimeout: Duration = .seconds(5)
        ) {
            self.durability = durability
            self.limits = limits
            self.busyTimeout = busyTimeout
        }
    }
}
