import Foundation

/// Measures sessions of use: a pure state machine over times.
///
/// A session ends when the application has been away for longer than the time-out. Its length excludes the time away,
/// and its end is when the application was left. The state from which a session ends is stored, so that the next launch
/// can end the session if this one doesn't return.
struct SessionClock: Sendable, Hashable, Codable {
    /// What happened.
    enum Outcome: Sendable, Hashable {
        /// A session ended, after whole seconds of use.
        case ended(seconds: Int, at: Date)
        /// A session began.
        case started(at: Date)
    }

    /// Seconds of use before the current stretch.
    private(set) var used = 0.0
    /// Since when the application has been in use; `nil` while it is away.
    private(set) var since: Date?
    /// When the application was left; `nil` while it is in use.
    private(set) var left: Date?
    /// The user who was there last, whose denial removes the session; `nil` if an earlier version stored it.
    var userID: String?

    /// The process began: any earlier session is over, and a new one begins.
    mutating func launch(at now: Date) -> [Outcome] {
        let end = left.map { Outcome.ended(seconds: Self.whole(used), at: $0) }
        self = SessionClock()
        since = now
        return [end, .started(at: now)].compactMap(\.self)
    }

    /// The application was left.
    ///
    /// A second call without a return has no effect.
    mutating func leave(at now: Date) {
        guard let since else { return }
        used += max(0, now.timeIntervalSince(since))
        self.since = nil
        left = now
    }

    /// The application became active again.
    mutating func enter(at now: Date, timeout: TimeInterval) -> [Outcome] {
        guard let left else {
            if since != nil { return [] }
            since = now
            return [.started(at: now)]
        }
        self.left = nil
        since = now
        guard now.timeIntervalSince(left) > timeout else { return [] }
        let seconds = Self.whole(used)
        used = 0
        return [.ended(seconds: seconds, at: left), .started(at: now)]
    }

    private static func whole(_ seconds: Double) -> Int { Int(min(max(0, seconds), 1e12).rounded(.down)) }
}
