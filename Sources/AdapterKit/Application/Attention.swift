/// Whether the application is in the foreground and in use: pure, with times passed in.
package struct Attention: Sendable {
    /// Whether the application is in the foreground.
    package private(set) var isForeground = true
    /// Whether the user isn't idle.
    package private(set) var isUserActive = true
    private var lastTouch: ContinuousClock.Instant

    /// Begins in the foreground, with a touch.
    package init(at now: ContinuousClock.Instant) { lastTouch = now }

    /// Whether the user is there to see something.
    package var isThere: Bool { isForeground && isUserActive }

    /// Returns when the user will count as idle without a touch; `nil` once they do.
    package func idleMoment(after limit: Duration) -> ContinuousClock.Instant? {
        isUserActive ? lastTouch.advanced(by: limit) : nil
    }

    /// Records a touch.
    package mutating func touch(at now: ContinuousClock.Instant) {
        lastTouch = now
        isUserActive = true
    }

    /// Records that there was no touch for too long.
    package mutating func grewIdle() { isUserActive = false }

    /// Records that the application entered the foreground, which counts as a touch, or left it.
    package mutating func move(toForeground: Bool, at now: ContinuousClock.Instant) {
        isForeground = toForeground
        if toForeground { touch(at: now) }
    }
}
