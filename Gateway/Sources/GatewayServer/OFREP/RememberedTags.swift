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

    private struct Shelves {
        var young: [ByteBuffer: Entry] = [:]
        var old: [ByteBuffer: Entry] = [:]
        var bytes = 0
    }

    private let limit: Int
    private let state = Mutex(Shelves())
    /// The size of an entry beside its body: the slot in the table, the tag and the assignments, roughly.
    private static let overhead = 400

    /// Creates an empty memory.
    ///
    /// - Parameter bytes: How large it may be, roughly.
    init(bytes: Int = 8_000_000) { limit = bytes }

    /// What is remembered of a request with these bytes.
    subscript(body: ByteBuffer) -> Entry? {
        state.withLock { shelves in
            if let entry = shelves.young[body] { return entry }
            guard let entry = shelves.old[body] else { return nil }
            Self.put(entry, body, on: &shelves, limit)
            return entry
        }
    }

    /// Remembers the tag of the answer to a request with these bytes.
    func remember(_ entry: Entry, of body: ByteBuffer) {
        state.withLock { Self.put(entry, body, on: &$0, limit) }
    }

    /// How much is remembered.
    var count: Int { state.withLock { $0.young.count + $0.old.count } }

    /// Half of the memory is filled; then it takes the place of the other half, which is given up.
    private static func put(_ entry: Entry, _ body: ByteBuffer, on shelves: inout Shelves, _ limit: Int) {
        let size = body.readableBytes + overhead
        guard size <= limit / 2 else { return }
        if shelves.bytes + size > limit / 2 { shelves = Shelves(old: shelves.young) }
        // A copy, so that the connection's buffer isn't kept with it.
        if shelves.young.updateValue(entry, forKey: ByteBuffer(bytes: body.readableBytesView)) == nil {
            shelves.bytes += size
        }
    }
}
