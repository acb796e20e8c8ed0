@_spi(StoredForm) import Experimentation
import Foundation
internal import GRDB

extension Int64 {
    /// Whether it is plausible for a count, a sequence or a version.
    var isPlausible: Bool { (0..<1 << 53).contains(self) }
}

/// Plausible values of a row in a file that may be damaged.
extension Row {
    /// A plausible number that isn't negative.
    func number(_ place: Int) -> Int64? {
        guard place < count, let number = Int64.fromDatabaseValue(self[place]) else { return nil }
        return number.isPlausible ? number : nil
    }

    /// A date or a duration.
    func seconds(_ place: Int) -> Double? {
        guard place < count, let number = Double.fromDatabaseValue(self[place]), number.isFinite else { return nil }
        return number
    }

    /// A string, including what follows a zero byte: read as a string, the row has only what precedes it.
    func text(_ place: Int) -> String? {
        guard place < count, String.fromDatabaseValue(self[place]) != nil else { return nil }
        let bytes: Data? = self[place]
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Bytes.
    func data(_ place: Int) -> Data? { place < count ? Data.fromDatabaseValue(self[place]) : nil }
}

extension StoreContents.Event {
    /// Creates an event, if its values are valid.
    init?(priority: Int64?, date: Double?, body: Data?, tail: StoreContents.Tail? = nil) {
        guard let priority, (0...2).contains(priority), let date, let body,
            (try? EnvelopeCoding.decode(Array(body))) != nil
        else { return nil }
        self.init(priority: Int(priority), date: date, body: body, tail: tail)
    }
}

extension StoreContents.Tail {
    /// Reads the deliveries in a row of `event`.
    init?(_ row: Row) {
        guard let owed = row.number(3), let kept = row.number(4), let user = row.text(5) else { return nil }
        self.init(owed: owed, isKept: kept != 0, user: user)
    }
}

extension StoreContents.Delivery {
    /// Reads a row of `delivery`.
    init?(_ row: Row) {
        guard let held = row.number(1), let kept = row.number(3), let user = row.text(4) else { return nil }
        self.init(
            isHeld: held != 0,
            isKept: kept != 0,
            user: user,
            noted: row.seconds(5),
            due: row.seconds(6),
            attempts: row.number(7).map { Int(min($0, 1_000_000)) },
            reason: row.text(8)
        )
    }
}

extension StoreContents.Lane {
    /// Reads a row of `destination`: its ledger, its pause and its epoch, but no lease.
    init?(_ row: Row) {
        guard let provider = row.text(1), let account = row.text(2), let accepted = row.number(13),
            let through = row.number(14), let delivered = row.number(15), let purged = row.number(16)
        else { return nil }
        var lane = OutboxLane(of: Destination(provider: provider, account: account))
        lane.epoch = row.number(4) ?? 0
        lane.revision = row.number(5) ?? 0
        if let noted = row.seconds(9), let due = row.seconds(10) {
            lane.trouble.pause = .init(noted: Date(timeIntervalSince1970: noted), due: Date(timeIntervalSince1970: due))
        }
        lane.trouble.reason = row.text(11)
        lane.trouble.tried = row.number(12) ?? 0
        lane.ledger = Ledger(accepted: Int(accepted), delivered: Int(delivered), purged: Int(purged))
        self.init(lane: lane, through: through, head: min(row.number(17) ?? 0, through))
    }
}

extension Destination {
    /// The owner of events that name none; the first provider that fits takes them.
    static let unclaimed = Destination(provider: "", account: "")
}

/// The names in the table `meta`.
enum StoreMeta {
    /// The salt of marks of denial; the names of other files' salts begin the same way.
    static let salt = "salt"
    /// The file must be rewritten.
    static let erase = "erase"
    /// Everything was moved to another file.
    static let moved = "moved"
}
