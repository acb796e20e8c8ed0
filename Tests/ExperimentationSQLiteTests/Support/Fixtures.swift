import Experimentation
import ExperimentationSQLite
import Foundation
import Testing

/// A folder of a test's own, gone with it.
final class TemporaryFolder: Sendable {
    let url: URL

    init() {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("xp-store-\(UUID().uuidString)")
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String = "store.sqlite") -> URL { url.appendingPathComponent(name) }

    /// Every byte of every file in the folder.
    func contents() throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path) {
            contents[name] = FileManager.default.contents(atPath: url.appendingPathComponent(name).path)
        }
        return contents
    }

    /// In how many files a text stands.
    func occurrences(of text: String) throws -> Int {
        try contents().values.filter { $0.range(of: Data(text.utf8)) != nil }.count
    }
}

/// The two outboxes that must behave alike.
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
        case .sqlite: try SQLiteStore(at: folder.file(), limits: limits)
        }
    }

    func openState(_ folder: TemporaryFolder) throws -> any StateStore {
        switch self {
        case .memory: InMemoryStateStore()
        case .sqlite: try SQLiteStore(at: folder.file())
        }
    }
}

/// The same numbers for the same seed.
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

/// The moment at which tests begin.
let noon = Date(timeIntervalSince1970: 1_795_262_400)

/// Whether the figures of the long run are asked for.
let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"

extension Envelope {
    /// An event that only its id, its user and its kind matter of.
    static func sample(
        _ id: String,
        user: String = "ada",
        _ event: TrackingEvent = .custom("spun-wheel"),
        at date: Date = noon
    ) -> Envelope {
        Envelope(id: id, identity: Identity(id: user), session: "s-1", event: event, date: date)
    }
}

extension OutboxStore {
    /// Takes everything that can be taken, for a minute.
    func leaseAll(_ limit: Int = 1_000, at now: Date = noon, for seconds: Double = 60) async throws -> [String] {
        try await lease(limit, bytes: .max, now: now, until: now + seconds).map(\.id)
    }

    /// Holds the accounts against each other and against what waits.
    func expectBalance(_ accepted: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let ledger = try await ledger()
        let status = try await status(now: noon)
        #expect(ledger.isBalanced, "\(ledger)", sourceLocation: sourceLocation)
        #expect(
            ledger.pending == status.ready + status.held + status.delayed + status.leased,
            "\(ledger) \(status)",
            sourceLocation: sourceLocation
        )
        if let accepted { #expect(ledger.accepted == accepted, sourceLocation: sourceLocation) }
    }
}
