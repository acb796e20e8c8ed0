import AdapterKit
import Experimentation
import Foundation
import Synchronization

/// The `Date` field of answers, formatted at most once a second.
final class DateField: Sendable {
    private let time: any TimeSource
    private let last = Mutex((second: -1, text: ""))

    init(_ time: any TimeSource) { self.time = time }

    /// The field's value.
    var text: String {
        let second = Int(time.now.timeIntervalSince1970.rounded(.down))
        return last.withLock { last in
            if last.second != second { last = (second, Self.text(second)) }
            return last.text
        }
    }

    /// Formats a time for HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ second: Int) -> String {
        var parts = tm()
        var moment = time_t(second)
        gmtime_r(&moment, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        return "\(day) \(1900 + Int(parts.tm_year)) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}
