/// What a store may be able to do beyond keeping things for as long as it is open.
///
/// A contract leaves out the cases that need more than a bench says, and names them in its report.
public enum StoreFeature: String, Sendable, Hashable, CaseIterable {
    /// What was written is there when the place is closed and opened again.
    case durable
    /// Several may have the place open at once, as two processes do.
    case shared
    /// It keeps no more and no larger events than it was opened for.
    case limited
}

/// How much a store is opened for.
public struct StoreSize: Sendable, Hashable {
    /// How many events wait at most.
    public var maximumCount: Int
    /// How many bytes an event may take.
    public var maximumEventBytes: Int

    /// Creates a size.
    public init(maximumCount: Int = 10_000, maximumEventBytes: Int = 32_768) {
        self.maximumCount = maximumCount
        self.maximumEventBytes = maximumEventBytes
    }
}

/// Where the data of one case lies: a file, a schema, or nothing but memory.
public struct StorePlace<Store: Sendable>: Sendable {
    /// Opens the place once more.
    public var open: @Sendable () async throws -> Store
    /// Closes what was opened.
    public var close: @Sendable (Store) async throws -> Void

    /// Creates a place.
    ///
    /// - Parameters:
    ///   - open: Opens it; the first time it is empty, later it holds what was written.
    ///   - close: Closes what was opened.
    public init(
        open: @escaping @Sendable () async throws -> Store,
        close: @escaping @Sendable (Store) async throws -> Void = { _ in }
    ) {
        self.open = open
        self.close = close
    }
}

/// The store that a contract is run over.
///
/// ```swift
/// let bench = StoreBench<any OutboxStore>(features: [.durable, .shared, .limited]) { size in
///     let url = folder.appendingPathComponent(UUID().uuidString)
///     return StorePlace { try MyStore(at: url, most: size.maximumCount) } close: { await ($0 as? MyStore)?.close() }
/// }
/// let report = await OutboxStoreContract.run(over: bench)
/// ```
public struct StoreBench<Store: Sendable>: Sendable {
    /// What the store can do.
    public let features: Set<StoreFeature>
    /// Makes an empty place.
    let place: @Sendable (StoreSize) async throws -> StorePlace<Store>

    /// Creates a bench.
    ///
    /// - Parameters:
    ///   - features: What the store can do; cases that need more are left out.
    ///   - place: Makes an empty place for a case, of a size.
    public init(
        features: Set<StoreFeature>,
        place: @escaping @Sendable (StoreSize) async throws -> StorePlace<Store>
    ) {
        self.features = features
        self.place = place
    }

    /// Creates a bench for stores that are there as long as they are open.
    ///
    /// - Parameters:
    ///   - isLimited: Whether the store keeps to the size that it is opened for.
    ///   - open: Opens an empty store of a size.
    public init(isLimited: Bool = true, open: @escaping @Sendable (StoreSize) async throws -> Store) {
        self.init(features: isLimited ? [.limited] : []) { size in StorePlace { try await open(size) } }
    }
}

/// Something that a store did otherwise than the contract has it.
public struct StoreFailure: Sendable, Hashable, CustomStringConvertible {
    /// The case that found it.
    public var caseID: String
    /// What the case shows.
    public var title: String
    /// What was found, with the place in the case's source.
    public var message: String

    /// All of it, in a line.
    public var description: String { "\(caseID): \(title): \(message)" }
}

/// What came of a contract.
public struct StoreReport: Sendable, Hashable {
    /// The cases that were run.
    public var run: [String] = []
    /// The cases that need a feature that the bench doesn't have.
    public var leftOut: [String] = []
    /// What the store did otherwise; empty if it keeps the contract.
    public var failures: [StoreFailure] = []
}
