/// Numbers from the wire, which may be anything, as numbers that can be used.
extension Duration {
    /// Creates a duration from a number of seconds that came from outside, held within a range.
    ///
    /// `Duration.seconds(_:)` traps on what it can't hold; this takes `1e308`, infinities and `NaN`, which becomes the lower
    /// bound.
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
    /// Creates a whole number from a number that came from outside, without its fraction, held within a range.
    ///
    /// `Int(_:)` traps on what it can't hold; this takes anything, and makes the lower bound of `NaN`.
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
