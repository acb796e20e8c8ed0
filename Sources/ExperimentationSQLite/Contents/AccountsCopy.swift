@_spi(StoredForm) import Experimentation
import Foundation

/// A second copy of the ledgers, in the lock file beside the store: the figures to balance against when the store is
/// truncated.
///
/// It is written with every delivery or removal, with every 256th accepted event and when the store is closed, without
/// waiting for the disk, and read only when the store is damaged. It names destinations as the store does and holds
/// nothing about users.
struct AccountsCopy: Sendable, Equatable {
    /// A destination's ledger, without what waits.
    struct Lane: Sendable, Equatable {
        var destination: Destination
        var ledger: Ledger
        /// Up to this sequence, deliveries that aren't held have been made, although their rows may still exist.
        var head: Int64
    }

    /// The store that it is a copy of, by the store's own random bytes.
    var salt = Data()
    /// The highest sequence ever assigned.
    var lastSequence: Int64 = 0
    /// The destinations by their numbers in the store.
    var lanes: [Int64: Lane] = [:]

    /// Creates an empty copy.
    init() {}

    // MARK: Written form

    private static let mark = Array("XPAC0001".utf8)

    /// The written form: a marker, a checksum and the figures.
    var bytes: [UInt8] {
        var body: [UInt8] = []
        func add(_ number: Int64) { withUnsafeBytes(of: number.littleEndian) { body += $0 } }
        func add(_ bytes: some Collection<UInt8>) {
            add(Int64(bytes.count))
            body += bytes
        }
        add(salt)
        add(lastSequence)
        add(Int64(lanes.count))
        for (id, lane) in lanes {
            add(id)
            add(lane.destination.provider.utf8)
            add(lane.destination.account.utf8)
            for figure in [lane.ledger.accepted, lane.ledger.delivered, lane.ledger.purged] { add(Int64(figure)) }
            add(lane.head)
            add(Int64(lane.ledger.dropped.count))
            for (reason, count) in lane.ledger.dropped {
                add(reason.rawValue.utf8)
                add(Int64(count))
            }
        }
        var head = Self.mark
        for number in [Int64(body.count), Int64(bitPattern: Self.sum(body))] {
            withUnsafeBytes(of: number.littleEndian) { head += $0 }
        }
        return head + body
    }

    /// Parses the written form; `nil` if it isn't complete.
    init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard reader.take(Self.mark.count).map(Array.init) == Self.mark, let count = reader.number(),
            let sum = reader.number(), let body = reader.take(count), Self.sum(body) == UInt64(bitPattern: sum)
        else { return nil }
        reader = Reader(bytes: body)
        guard let salt = reader.block(), let last = reader.number(), last.isPlausible,
            let lanes = reader.number()
        else { return nil }
        self.salt = Data(salt)
        lastSequence = last
        for _ in 0..<max(0, min(lanes, Int64(body.count))) {
            guard let id = reader.number(), let lane = reader.lane() else { return nil }
            self.lanes[id] = lane
        }
    }

    private static func sum(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    /// Reads figures from outside bytes.
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ count: some BinaryInteger) -> ArraySlice<UInt8>? {
            guard let count = Int(exactly: count), count >= 0, count <= bytes.count else { return nil }
            defer { bytes = bytes.dropFirst(count) }
            return bytes.prefix(count)
        }

        mutating func number() -> Int64? {
            take(8).map { $0.reversed().reduce(0) { $0 << 8 | Int64($1) } }
        }

        mutating func block() -> ArraySlice<UInt8>? { number().flatMap { take($0) } }

        mutating func text() -> String? { block().map { String(decoding: $0, as: UTF8.self) } }

        mutating func count() -> Int? { number().flatMap { $0.isPlausible ? Int($0) : nil } }

        mutating func lane() -> Lane? {
            guard let provider = text(), let account = text(), let accepted = count(), let delivered = count(),
                let purged = count(), let head = count(), let reasons = count()
            else { return nil }
            var ledger = Ledger(accepted: accepted, delivered: delivered, purged: purged)
            for _ in 0..<min(reasons, bytes.count) {
                guard let reason = text(), let count = count() else { return nil }
                ledger.dropped[.init(rawValue: reason)] = count
            }
            return Lane(
                destination: Destination(provider: provider, account: account),
                ledger: ledger,
                head: Int64(head)
            )
        }
    }
}
