import Synchronization

/// An entry of a ``RollingLog``, which is written as one line of text.
package protocol RollingLogEntry: Sendable {
    /// The entry as text without line breaks.
    var line: String { get }
    /// Reads an entry; `nil` if the text isn't one.
    init?(line: String)
}

/// The latest entries of a log that is kept in a state store.
///
/// It keeps at least the latest 960, in segments, so that adding some costs a write of a few kilobytes instead of
/// everything. Without a store, it lives as long as the process.
package final class RollingLog<Entry: RollingLogEntry>: Sendable {
    package static var segmentLength: Int { 64 }
    package static var segmentCount: Int { 16 }
    /// The minimum number of entries kept, once there have been as many.
    package static var length: Int { segmentLength * (segmentCount - 1) }

    private struct State {
        /// The entries in their written form, in the order in which they were added: a segment is written several
        /// times, but each entry is formatted once.
        var lines: [String] = []
        /// The number of the first of these entries, counted from the first ever.
        var first = 0
        var isLoaded = false

        /// The number of the next entry.
        var end: Int { first + lines.count }
    }

    private let state = Mutex(State())
    private let store: (any StateStore)?
    private let prefix: String
    /// One change at a time, so that segments are written in order.
    private let turn = AsyncSemaphore(limit: 1)

    /// Creates a log under keys with a prefix.
    package init(store: (any StateStore)?, prefix: String) {
        self.store = store
        self.prefix = prefix
    }

    /// The number of changes that wait for their turn.
    package var waiting: Int { turn.waiting }

    /// The kept entries, earliest first.
    package func entries() async throws(ExperimentationError) -> [Entry] {
        try await load()
        return state.withLock(\.lines).compactMap(Entry.init(line:))
    }

    /// Adds entries.
    package func note(_ new: [Entry]) async throws(ExperimentationError) {
        guard !new.isEmpty else { return }
        try await turn.take()
        defer { turn.leave() }
        try await load()
        try await append(new)
    }

    /// Removes all entries.
    package func clear() async throws(ExperimentationError) {
        try await turn.take()
        defer { turn.leave() }
        try await removeAll()
    }

    /// Removes the entries that meet a condition.
    ///
    /// - Returns: How many were removed.
    package func remove(where isGone: (Entry) -> Bool) async throws(ExperimentationError) -> Int {
        // Read and remove in one turn: what is noted in between would be lost.
        try await turn.take()
        defer { turn.leave() }
        let all = try await entries()
        let kept = all.filter { !isGone($0) }
        guard kept.count < all.count else { return 0 }
        try await removeAll()
        if !kept.isEmpty { try await append(kept) }
        return all.count - kept.count
    }

    // MARK: In the store

    private func append(_ new: [Entry]) async throws(ExperimentationError) {
        let segments = state.withLock { state -> [(number: Int, text: [UInt8])] in
            let begin = state.end
            state.lines += new.map(\.line)
            let current = (state.end - 1) / Self.segmentLength
            let oldest = max(state.first, (current - Self.segmentCount + 1) * Self.segmentLength)
            state.lines.removeFirst(oldest - state.first)
            state.first = oldest
            let earliest = max(begin, oldest) / Self.segmentLength
            return (earliest...current).map { ($0, Self.text(of: $0, in: state)) }
        }
        for (number, text) in segments {
            try await store?.setValue(text, for: prefix + String(number % Self.segmentCount))
        }
    }

    private func removeAll() async throws(ExperimentationError) {
        try await store?.removeAll(beginningWith: prefix)
        state.withLock { $0 = State(isLoaded: true) }
    }

    private func load() async throws(ExperimentationError) {
        guard !state.withLock(\.isLoaded) else { return }
        var segments: [(first: Int, lines: [String])] = []
        if let store {
            for key in try await store.keys(beginningWith: prefix) {
                guard let bytes = try await store.value(for: key), let segment = Self.segment(bytes) else { continue }
                segments.append(segment)
            }
        }
        segments.sort { $0.first < $1.first }
        let read = segments
        state.withLock { state in
            guard !state.isLoaded else { return }
            state.isLoaded = true
            // A gap is an unreadable segment; everything before it counts as removed.
            for segment in read {
                if segment.first != state.end { (state.first, state.lines) = (segment.first, []) }
                state.lines += segment.lines
            }
        }
    }

    /// Formats a line with the number of the first entry, and one line for each entry.
    private static func text(of segment: Int, in state: State) -> [UInt8] {
        let from = max(segment * segmentLength, state.first)
        let until = min((segment + 1) * segmentLength, state.end)
        let lines = state.lines[(from - state.first)..<(until - state.first)]
        return Array(([String(from)] + lines).joined(separator: "\n").utf8)
    }

    private static func segment(_ bytes: [UInt8]) -> (first: Int, lines: [String])? {
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        // No log gets that long, and adding to a larger number could overflow.
        guard let first = Int(lines.removeFirst()), (0..<1 << 53).contains(first),
            lines.allSatisfy({ Entry(line: $0) != nil })
        else { return nil }
        return (first, lines)
    }
}
