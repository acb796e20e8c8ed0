import Experimentation
import ExperimentationSQLite
import Foundation
import Synchronization
import Testing

extension Destination {
    /// The usual destination of the file tests.
    static let filed = Destination(provider: "filed", scope: "")
    /// A second destination.
    static let alsoFiled = Destination(provider: "also-filed", scope: "")
}

/// The events of one lease.
struct FiledBatch: Sendable {
    var token: LeaseToken
    var events: [Envelope] = []
    var ids: [String] { events.map(\.id) }
}

extension OutboxStore {
    /// Accepts events for destinations, and expects no rejection.
    func file(
        _ events: [Envelope],
        isHeld: Bool = false,
        to destinations: [Destination] = [.filed],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let deliveries = destinations.map { NewEvent.Delivery(to: $0, isHeld: isHeld) }
        let refusals = try await append(events.map { NewEvent($0, owedTo: deliveries) }, now: noon)
        #expect(refusals.allSatisfy { $0 == nil }, sourceLocation: sourceLocation)
    }

    /// Leases what can be leased for a minute; without a lease if there is nothing.
    func fetch(_ limit: Int = 100_000, for destination: Destination = .filed, at now: Date = noon) async throws
        -> FiledBatch
    {
        let answer = try await lease(LeaseRequest(for: destination, owner: 7, of: limit, now: now, until: now + 60))
        guard case .leased(let lease) = answer else {
            return FiledBatch(token: LeaseToken(destination: destination, epoch: -1, revision: -1))
        }
        return FiledBatch(token: lease.token, events: lease.batches.flatMap(\.self))
    }

    /// Settles a batch as delivered and releases the lane.
    @discardableResult
    func finish(_ batch: FiledBatch) async throws -> Bool {
        let isCurrent = try await settle(
            batch.events.map { Settlement(of: $0, .delivered) },
            under: batch.token,
            now: noon
        )
        try await release(batch.token, pause: nil, now: noon)
        return isCurrent
    }

    /// Delivers a number of events.
    func deliver(_ limit: Int, for destination: Destination = .filed) async throws {
        try await finish(try await fetch(limit, for: destination))
    }
}

/// Records the names of logged events.
final class LoggedNames: LogSink {
    let level = LogLevel.trace
    private let entries = Mutex<[LogEntry]>([])
    func log(_ entry: LogEntry) { entries.withLock { $0.append(entry) } }
    var names: [String] { entries.withLock { $0.map(\.event) } }
}

/// Changes a database file without its store.
enum StoreSurgery {
    /// Truncates a file.
    static func cut(_ url: URL, to bytes: Int) throws {
        let handle = try FileHandle(forWritingTo: url)
        defer { try? handle.close() }
        try handle.truncate(atOffset: UInt64(max(0, bytes)))
    }

    /// Returns a file's size.
    static func size(of url: URL) throws -> Int { try Data(contentsOf: url).count }

    /// Overwrites the page that contains a text.
    static func ruinPage(with text: String, in url: URL) throws {
        var data = try Data(contentsOf: url)
        let place = try #require(data.range(of: Data(text.utf8))).lowerBound / 4_096 * 4_096
        data.replaceSubrange(place..<(place + 4_096), with: Data(repeating: 0xFF, count: 4_096))
        try data.write(to: url)
    }
}
