import Experimentation
import Foundation
import Synchronization

/// What became of the latest events: which were delivered, and which were dropped.
///
/// The outbox forgets an event as soon as it is settled; the reference keeps it for look-ups. The journal has at least
/// the latest 960, in segments, so that a batch costs a write of a few kilobytes instead of everything. It names no
/// users.
final class EngageJournal: Sendable {
    struct Entry: Sendable, Hashable {
        var id: String
        var code: Int
        var date: Date
        var isDelivered: Bool
        /// Why it was dropped.
        var reason = ""
    }

    static let segmentLength = 64
    static let segmentCount = 16
    /// The minimum number of events remembered, once there have been as many.
    static let length = segmentLength * (segmentCount - 1)

    private struct State {
        /// In the order in which they were settled.
        var entries: [Entry] = []
        /// The entries in their written form: a segment is written several times, but each event is formatted once.
        var lines: [String] = []
        /// The number of the first one, counted from the first ever.
        var first = 0
        var isLoaded = false
    }

    private let state = Mutex(State())
    private let store: (any StateStore)?
    private let prefix: String
    /// One change at a time, so that segments are written in order.
    private let turn = AsyncSemaphore(limit: 1)

    init(store: (any StateStore)?, prefix: String) {
        self.store = store
        self.prefix = prefix
    }

    /// The remembered events, earliest first.
    func entries() async throws(ExperimentationError) -> [Entry] {
        try await load()
        return state.withLock(\.entries)
    }

    /// The number of changes that wait for their turn.
    var waiting: Int { turn.waiting }

    /// Adds entries.
    func note(_ new: [Entry]) async throws(ExperimentationError) {
        guard !new.isEmpty else { return }
        try await turn.take()
        defer { turn.leave() }
        try await load()
        try await append(new)
    }

    /// Removes all entries.
    func clear() async throws(ExperimentationError) {
        try await turn.take()
        defer { turn.leave() }
        try await removeAll()
    }

    /// Removes the entries before a date.
    ///
    /// - Returns: How many were removed.
    func forget(before date: Date) async throws(ExperimentationError) -> Int {
        // In one turn: what is noted between reading and removing would be lost.
        try await turn.take()
        defer { turn.leave() }
        let all = try await entries()
        let kept = all.filter { $0.date >= date }
        guard kept.count < all.count else { return 0 }
        try await removeAll()
        if !kept.isEmpty { try await append(kept) }
        return all.count - kept.count
    }

    // MARK: In the store

    private func append(_ new: [Entry]) async throws(ExperimentationError) {
        let segments = state.withLock { state -> [(number: Int, text: [UInt8])] in
            let begin = state.first + state.entries.count
            state.entries += new
            state.lines += new.map(Self.line(of:))
            let end = state.first + state.entries.count
            let current = (end - 1) / Self.segmentLength
            let oldest = max(0, current - Self.segmentCount + 1) * Self.segmentLength
            if oldest > state.first {
                state.entries.removeFirst(oldest - state.first)
                state.lines.removeFirst(oldest - state.first)
                state.first = oldest
            }
            let earliest = max(begin, state.first) / Self.segmentLength
            return (earliest...current).map { ($0, Self.text(of: $0, in: state)) }
        }
        for segment in segments { try await write(segment.text, to: segment.number) }
    }

    private func removeAll() async throws(ExperimentationError) {
        try await store?.removeAll(beginningWith: prefix)
        state.withLock { $0 = State(isLoaded: true) }
    }

    private func load() async throws(ExperimentationError) {
        guard !state.withLock(\.isLoaded) else { return }
        var segments: [(first: Int, entries: [Entry])] = []
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
                if segment.first != state.first + state.entries.count {
                    state.entries = []
                    state.lines = []
                    state.first = segment.first
                }
                state.entries += segment.entries
                state.lines += segment.entries.map(Self.line(of:))
            }
        }
    }

    private func write(_ text: [UInt8], to segment: Int) async throws(ExperimentationError) {
        try await store?.setValue(text, for: prefix + String(segment % Self.segmentCount))
    }

    /// Formats a line with the number of the first event, and one line for each event.
    private static func text(of segment: Int, in state: State) -> [UInt8] {
        let from = max(segment * segmentLength, state.first)
        let until = min((segment + 1) * segmentLength, state.first + state.entries.count)
        var text = String(from)
        for line in state.lines[(from - state.first)..<(until - state.first)] { text += line }
        return Array(text.utf8)
    }

    private static func line(of entry: Entry) -> String {
        let milliseconds = Int(exactly: (entry.date.timeIntervalSince1970 * 1000).rounded()) ?? 0
        return "\n\(entry.id)\t\(entry.code)\t\(milliseconds)\t\(entry.isDelivered ? "1" : "0")\t\(entry.reason)"
    }

    private static func segment(_ bytes: [UInt8]) -> (first: Int, entries: [Entry])? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first.flatMap({ Int($0) }), first >= 0 else { return nil }
        let entries = lines.dropFirst().compactMap { line -> Entry? in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count == 5, let code = Int(fields[1]), let milliseconds = Int(fields[2]) else { return nil }
            return Entry(
                id: String(fields[0]),
                code: code,
                date: Date(timeIntervalSince1970: Double(milliseconds) / 1000),
                isDelivered: fields[3] == "1",
                reason: String(fields[4])
            )
        }
        return entries.count == lines.count - 1 ? (first, entries) : nil
    }
}
