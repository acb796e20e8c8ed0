/// Converts arbitrary numbers from the wire to usable ones.
extension Duration {
    /// Creates a duration from an outside number of seconds, clamped to a range.
    ///
    /// `Duration.seconds(_:)` traps on what it can't hold; this accepts `1e308`, infinities and `NaN`, which becomes
    /// the lower bound.
    public init(clampingSeconds seconds: Double, to range: ClosedRange<Duration>) {
        let (least, most) = (range.lowerBound / .seconds(1), range.upperBound / .seconds(1))
        if seconds >= most {
            self = range.upperBound
        } else if seconds > least {
            self = min(max(.seconds(seconds), range.lowerBound), range.upperBound)
        } else {
            self = range.lowerBound
        }
    }
}

extension Int {
    /// Creates an integer from an outside number, truncated and clamped to a range.
    ///
    /// `Int(_:)` traps on what it can't hold; this accepts anything, and `NaN` becomes the lower bound.
    public init(clamping number: Double, to range: ClosedRange<Int>) {
        if number >= Double(range.upperBound) {
            self = range.upperBound
        } else if number > Double(range.lowerBound) {
            self = Swift.min(
                Swift.max(Int(exactly: number.rounded(.towardZero)) ?? range.lowerBound, range.lowerBound),
                range.upperBound
            )
        } else {
            self = range.lowerBound
        }
    }
}
