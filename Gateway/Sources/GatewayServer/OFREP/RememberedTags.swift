import Experimentation
import NIOCore
import Synchronization

/// The entity tags of recent bulk answers, by the bytes of the requests: for clients that ask again and again whether
/// anything has changed.
///
/// A tag is valid only while everything that went into the answer is: see `docs/decisions/0211-remembered-tags.md`. The
/// memory is bounded in bytes; entries that no client has asked for recently are removed first.
final class RememberedTags: Sendable {
    /// A tag, and what went into it.
    struct Entry: Sendable {
        let tag: String
        /// The rules, overrides and span of time that decisions depend on.
        let basis: DecisionBasis
        /// The encoded flags.
        let forms: FlagForms
        /// The user whose assignments are kept; `nil` if none are kept.
        let userID: String?
        /// The user's earlier assignments.
        let earlier: EarlierAssignments
    }

    private let table: Mutex<RecentTable<ByteBuffer, Entry>>
    /// The approximate size of an entry besides its body: the slot in the table, the tag and the assignments.
    private static let overhead = 400

    /// Creates an empty memory.
    ///
    /// - Parameter bytes: The approximate maximum size.
    init(bytes: Int = 8_000_000) { table = Mutex(RecentTable(limit: bytes)) }

    /// The entry for a request with these bytes.
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

    /// The number of entries.
    var count: Int { table.withLock { $0.count } }

    private static func put(_ entry: Entry, _ body: ByteBuffer, into table: inout RecentTable<ByteBuffer, Entry>) {
        // Copied, so that the entry doesn't keep the connection's buffer alive.
        table.set(entry, for: ByteBuffer(bytes: body.readableBytesView), weighing: body.readableBytes + overhead)
    }
}
