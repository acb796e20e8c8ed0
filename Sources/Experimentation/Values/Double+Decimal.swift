import Foundation

extension Double {
    /// Creates the double nearest to a decimal number.
    ///
    /// By way of its digits: on Linux, Foundation's own conversion rounds in several steps, and 19.99 becomes
    /// 19.990000000000002.
    ///
    /// - Parameter decimal: The number; NaN stays NaN.
    package init(nearestTo decimal: Decimal) { self = Double(decimal.description) ?? .nan }
}
