import Experimentation
import Foundation

/// The outcomes of the latest events: which were delivered, and which were dropped.
///
/// The outbox forgets an event as soon as it is settled; the reference keeps it for look-ups. The journal names no
/// users.
typealias EngageJournal = RollingLog<EngageEvent>

extension EngageJournal {
    /// Removes the events before a date.
    ///
    /// - Returns: How many were removed.
    func forget(before date: Date) async throws(ExperimentationError) -> Int {
        try await remove { $0.date < date }
    }
}

extension EngageEvent: RollingLogEntry {
    package var line: String {
        let milliseconds = Int(exactly: (date.timeIntervalSince1970 * 1000).rounded()) ?? 0
        let isDelivered = state == .successfullyPosted
        return "\(id)\t\(type.rawValue)\t\(milliseconds)\t\(isDelivered ? "1" : "0")\t\(reason ?? "")"
    }

    package init?(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        guard fields.count == 5, let code = Int(fields[1]), let milliseconds = Int(fields[2]) else { return nil }
        id = String(fields[0])
        type = BehaviorType(rawValue: code)
        date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
        state = fields[3] == "1" ? .successfullyPosted : .failedPost
        reason = fields[4].isEmpty ? nil : String(fields[4])
    }
}
