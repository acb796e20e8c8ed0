import Experimentation
import Foundation

extension FlagValue {
    /// Returns a number in its best JSON form: an integer where nothing is lost.
    package static func number(_ value: Double) -> FlagValue {
        Int(exactly: value).map(FlagValue.int) ?? .double(value)
    }

    /// The date this many milliseconds after 1970; `nil` for one so far away that it can't be printed.
    package var epochMilliseconds: Date? {
        guard let number = doubleValue, abs(number) < 1e14 else { return nil }
        return Date(timeIntervalSince1970: number / 1000)
    }

    /// The date that a text names in ISO 8601; `nil` for one too far away for ``epochMilliseconds``.
    package var iso8601: Date? {
        guard let date = stringValue.flatMap(Date.init(iso8601:)), date.epochMilliseconds != nil else { return nil }
        return date
    }
}

extension Date {
    /// Whole milliseconds since 1970; `nil` for a date so far away that it must be a mistake.
    package var epochMilliseconds: Int? {
        let number = (timeIntervalSince1970 * 1000).rounded()
        return abs(number) < 1e14 ? Int(exactly: number) : nil
    }
}
