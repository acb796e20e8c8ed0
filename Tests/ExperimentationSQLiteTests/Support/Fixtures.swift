import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

/// A temporary folder, deleted when it is released.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("xp-store-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String = "store.sqlite") -> URL { url.appendingPathComponent(name) }

    /// The contents of all files in the folder.
    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path) {
            contents[name] = FileManager.default.contents(atPath: url.appendingPathComponent(name).path)
        }
        return contents
    }

    /// The number of files that contain a text.
    func occurrences(of text: String) throws -> Int {
        try contents().values.filter { $0.range(of: Data(text.utf8)) != nil }.count
    }
}

/// The two outboxes, which must behave alike.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case memory, sqlite

    var testDescription: String { rawValue }

    func open(_ folder: TemporaryFolder, limits: StoreLimits = StoreLimits()) throws -> any OutboxStore {
        switch self {
        case .memory:
            InMemoryOutboxStore(
                maximumCount: limits.maximumCount,
                maximumBytes: limits.maximumBytes,
                maximumEventBytes: limits.maximumEventBytes
            )
        case .sqlite: try SQLiteStore(at: folder.file(), options: .init(limits: limits))
        }
    }

    func openState(_ folder: TemporaryFolder) throws -> any StateStore {
        switch self {
        case .memory: InMemoryStateStore()
        case .sqlite: try SQLiteStore(at: folder.file())
        }
    }
}

/// Generates the same numbers for the same seed.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: Int) { state = UInt64(bitPattern: Int64(seed)) }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The start time of the tests.
let noon = Date(timeIntervalSince1970: 1_795_262_400)

extension Envelope {
    /// Creates an event of which only id, user and kind matter.
    static func sample(
        _ id: String,
        user: String = "ada",
        _ event: TrackingEvent = .custom("spun-wheel"),
        at date: Date = noon
    ) -> Envelope {
        Envelope(id: id, identity: Identity(id: user), session: "s-1", event: event, date: date)
    }
}

extension Destination {
    static let home = Destination(provider: "home", scope: "")
    static let away = Destination(provider: "away", scope: "")
}

extension OutboxStore {
    /// Accepts events for a destination.
    ///
    /// - Throws: The store's error, or the first rejection.
    func append(
        _ envelopes: [Envelope],
        to destination: Destination = .home,
        isHeld: Bool = false,
        now: Date = noon
    ) async throws(ExperimentationError) {
        let events = envelopes.map { NewEvent($0, to: destination, isHeld: isHeld) }
        for refusal in try await append(events, now: now) { if let refusal { throw refusal } }
    }

    /// Leases a batch, if there is one; the lane stays leased.
    func take(
        _ limit: Int = 1_000,
        bytes: Int = .max,
        of destination: Destination = .home,
        owner: Int64 = 1,
        at now: Date = noon,
        for seconds: Double = 60
    ) async throws -> Lease? {
        let request = LeaseRequest(
            for: destination,
            owner: owner,
            of: limit,
            bytes: bytes,
            now: now,
            until: now + seconds
        )
        guard case .leased(let lease) = try await lease(request) else { return nil }
        return lease
    }

    /// The ids of all deliverable events, oldest first; releases the lane.
    func deliverable(_ limit: Int = 1_000, of destination: Destination = .home, at now: Date = noon) async throws
        -> [String]
    {
        guard let lease = try await take(limit, of: destination, owner: 7_777, at: now) else { return [] }
        try await release(lease.token, pause: nil, now: now)
        return lease.ids
    }

    /// Settles the events of a lease.
    @discardableResult
    func settle(
        _ lease: Lease,
        at now: Date = noon,
        _ outcome: (Envelope) -> Settlement.Outcome = { _ in .delivered }
    ) async throws -> Bool {
        try await settle(lease.events.map { Settlement(of: $0, outcome($0)) }, under: lease.token, now: now)
    }

    /// Removes a user's waiting events and resets the user's consent.
    ///
    /// - Returns: The number of removed deliveries.
    @discardableResult
    func purge(_ user: String) async throws -> Int {
        let changes = [false, true].map { ConsentChange(userID: user, isGranted: $0) }
        return try await setConsent(changes).removed
    }

    /// Checks the ledgers against each other and against the waiting events.
    func expectBalance(_ accepted: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let ledger = try await ledger()
        let status = try await status(now: noon)
        #expect(ledger.isBalanced, "\(ledger)", sourceLocation: sourceLocation)
        #expect(
            ledger.pending == status.deliverable + status.held,
            "\(ledger) \(status)",
            sourceLocation: sourceLocation
        )
        if let accepted { #expect(ledger.accepted == accepted, sourceLocation: sourceLocation) }
    }
}

extension Lease {
    /// The events of all batches.
    var events: [Envelope] { Array(batches.joined()) }
    /// Their ids.
    var ids: [String] { batches.joined().map(\.id) }
}
