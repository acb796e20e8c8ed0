import Experimentation
import Foundation
import Synchronization

/// What became of the latest events: which were delivered, and which were dropped.
///
/// The outbox forgets an event as soon as it is settled; the reference keeps it for look-ups. The journal has at least
/// the latest 960, in segments, so that a batch costs a write of a few kilobytes instead of everything. It names no
/// users.
final class EngageJournal: Sendable {
    static let segmentLength = 64
    static let segmentCount = 16
    /// The minimum number of events remembered, once there have been as many.
    static let length = segmentLength * (segmentCount - 1)

    private struct State {
        /// The events in their written form, in the order in which they were settled: a segment is written several
        /// times, but each event is formatted once.
        var lines: [String] = []
        /// The number of the first one, counted from the first ever.
        var first = 0
        var isLoaded = false

        /// The number of the next one.
        var end: Int { first + lines.count }
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
    func entries() async throws(ExperimentationError) -> [EngageEvent] {
        try await load()
        return state.withLock(\.lines).compactMap { EngageEvent($0) }
    }

    /// The number of changes that wait for their turn.
    var waiting: Int { turn.waiting }

    func note(_ new: [EngageEvent]) async throws(ExperimentationError) {
        guard !new.isEmpty else { return }
        try await turn.take()
        defer { turn.leave() }
        try await load()
        try await append(new)
    }

    func clear() async throws(ExperimentationError) {
        try await turn.take()
        defer { turn.leave() }
        try await removeAll()
    }

    /// Removes the events before a date.
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

    private func append(_ new: [EngageEvent]) async throws(ExperimentationError) {
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

    /// Formats a line with the number of the first event, and one line for each event.
    private static func text(of segment: Int, in state: State) -> [UInt8] {
        let from = max(segment * segmentLength, state.first)
        let until = min((segment + 1) * segmentLength, state.end)
        let lines = state.lines[(from - state.first)..<(until - state.first)]
        return Array(([String(from)] + lines).joined(separator: "\n").utf8)
    }

    private static func segment(_ bytes: [UInt8]) -> (first: Int, lines: [String])? {
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        // Beyond that, no installation ever counts, and counting on would overflow.
        guard let first = Int(lines.removeFirst()), (0..<1 << 53).contains(first),
            lines.allSatisfy({ EngageEvent($0) != nil })
        else { return nil }
        return (first, lines)
    }
}

extension EngageEvent {
    fileprivate var line: String {
        let milliseconds = Int(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? 0
        let isDelivered = state == .successfullyPosted
        return "\(id)\t\(type.rawValue)\t\(milliseconds)\t\(isDelivered ? "1" : "0")\t\(reason ?? "")"
    }

    fileprivate init?(_ line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard fields.count == 5, let code = Int(fields[1]), let milliseconds = Int(fields[2]) else { return nil }
        id = String(fields[0])
        type = BehaviorType(rawValue: code)
        date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        state = fields[3] == "1" ? .successfullyPosted : .failedPost
        reason = fields[4].isEmpty ? nil : String(fields[4])
    }
}
