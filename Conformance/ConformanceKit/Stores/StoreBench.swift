/// What a store can do beyond keeping data while it is open.
///
/// A contract skips the cases that need a feature the bench doesn't list, and names them in its report.
public enum StoreFeature: String, Sendable, Hashable, CaseIterable {
    /// Data survives closing and reopening the place.
    case durable
    /// Several owners can have the place open at once, as two processes do.
    case shared
    /// It enforces the maximum number and size of events.
    case limited
}

/// The limits that a store is opened with.
public struct StoreSize: Sendable, Hashable {
    /// The maximum number of waiting events.
    public var maximumCount: Int
    /// The maximum size of an event, in bytes.
    public var maximumEventBytes: Int

    /// Creates limits.
    public init(maximumCount: Int = 10_000, maximumEventBytes: Int = 32_768) {
        self.maximumCount = maximumCount
        self.maximumEventBytes = maximumEventBytes
    }
}

/// Where the data of a case lives: a file, a schema, or memory.
public struct StorePlace<Store: Sendable>: Sendable {
    /// Opens the place; may be called repeatedly.
    public var open: @Sendable () async throws -> Store
    /// Closes an opened store.
    public var close: @Sendable (Store) async throws -> Void

    /// Creates a place.
    ///
    /// - Parameters:
    ///   - open: Opens it; empty the first time, with the stored data later.
    ///   - close: Closes an opened store.
    public init(
        open: @escaping @Sendable () async throws -> Store,
        close: @escaping @Sendable (Store) async throws -> Void = { _ in }
    ) {
        self.open = open
        self.close = close
    }
}

/// A store implementation to run a contract against.
///
/// ```swift
/// let bench = StoreBench<any OutboxStore>(features: [.durable, .shared, .limited]) { size in
///     let url = folder.appendingPathComponent(UUID().uuidString)
///     return StorePlace { try MyStore(at: url, most: size.maximumCount) } close: { await ($0 as? MyStore)?.close() }
/// }
/// let report = await OutboxStoreContract.run(over: bench)
/// ```
public struct StoreBench<Store: Sendable>: Sendable {
    /// The store's features.
    public let features: Set<StoreFeature>
    /// Creates an empty place.
    let place: @Sendable (StoreSize) async throws -> StorePlace<Store>

    /// Creates a bench.
    ///
    /// - Parameters:
    ///   - features: The store's features; cases that need others are skipped.
    ///   - place: Creates an empty place of a given size for a case.
    public init(
        features: Set<StoreFeature>,
        place: @escaping @Sendable (StoreSize) async throws -> StorePlace<Store>
    ) {
        self.features = features
        self.place = place
    }

    /// Creates a bench for stores whose data lives only while they are open.
    ///
    /// - Parameters:
    ///   - isLimited: Whether the store enforces its size.
    ///   - open: Opens an empty store of a given size.
    public init(isLimited: Bool = true, open: @escaping @Sendable (StoreSize) async throws -> Store) {
        self.init(features: isLimited ? [.limited] : []) { size in StorePlace { try await open(size) } }
    }
}

/// A violation of a store's contract.
public struct StoreFailure: Sendable, Hashable, CustomStringConvertible {
    /// The case that found it.
    public var caseID: String
    /// The rule that the case verifies.
    public var title: String
    /// The finding, with its location in the case's source.
    public var message: String

    /// The case, the rule and the message in one line.
    public var description: String { "\(caseID): \(title): \(message)" }
}

/// The result of running a contract.
public struct StoreReport: Sendable, Hashable {
    /// The cases that ran.
    public var run: [String] = []
    /// The cases skipped because the bench lacks a feature.
    public var leftOut: [String] = []
    /// The violations; empty if the store keeps the contract.
    public var failures: [StoreFailure] = []
}
