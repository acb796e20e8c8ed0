import Experimentation
import NIOCore
import Synchronization

/// The entity tags of the bulk answers of a moment ago, by the bytes of the requests: for a client that asks again and again
/// whether anything has changed.
///
/// A tag holds only as long as everything that the answer was made of: see `docs/decisions/0211-remembered-tags.md`. The
/// memory is bounded in bytes; what hasn't been asked for lately goes first.
final class RememberedTags: Sendable {
    /// A tag, and what it was made of.
    struct Entry: Sendable {
        let tag: String
        /// The rules, overrides and span of time.
        let basis: DecisionBasis
        /// The encoded flags.
        let forms: FlagForms
        /// Whose assignments are kept; `nil` for a user of whom none are.
        let userID: String?
        /// What the user was assigned before.
        let earlier: EarlierAssignments
    }

    private let table: Mutex<RecentTable<ByteBuffer, Entry>>
    /// The size of an entry beside its body: the slot in the table, the tag and the assignments, roughly.
    private static let overhead = 400

    /// Creates an empty memory.
    ///
    /// - Parameter bytes: How large it may be, roughly.
    init(bytes: Int = 8_000_000) { table = Mutex(RecentTable(limit: bytes)) }

    /// What is remembered of a request with these bytes.
    subscript(body: ByteBuffer) -> Entry? {
        table.withLock { table in
            guard let entry = table[body] else { return nil }
            if table.isOld(body) { Self.put(entry, body, into: &table) }
            return entry
        }
    }

    /// Remembers the tag of the answer to a request with these bytes.
    func remember(_ entry: Entry, of body: ByteBuffer) {
        table.withLock { Self.put(entry, body, into: &$0) }
    }

    /// How much is remembered.
    var count: Int { table.withLock { $0.count } }

    private static func put(_ entry: Entry, _ body: ByteBuffer, into table: inout RecentTable<ByteBuffer, Entry>) {
        // A copy, so that the connection's buffer isn't kept with it.
        table.set(entry, for: ByteBuffer(bytes: body.readableBytesView), weighing: body.readableBytes + overhead)
    }
}
