/// Settings of a store.
///
/// ```swift
/// let store = try await ClientStore.sqlite(at: url, options: .init(durability: .powerLoss))
/// ```
public struct StoreOptions: Sendable, Hashable {
    /// What accepted events survive.
    public var durability: Durability
    /// How much the store keeps.
    public var limits: StoreLimits
    /// How long to wait for another process that has the file locked.
    public var busyTimeout: Duration

    /// Creates options.
    ///
    /// - Parameters:
    ///   - durability: What accepted events survive; by default the death of the process.
    ///   - limits: How much the store keeps; by default a hundred megabytes.
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
