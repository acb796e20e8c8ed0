import Experimentation
import Foundation

/// What a vendor's answers have shown of its experiments, and when.
///
/// An experiment that was finished at the vendor no longer appears, and isn't reported as finished: it counts as running
/// until answers have come without it for a day.
struct SeenGroups: Sendable, Equatable {
    struct Group: Sendable, Codable, Equatable {
        var name: String
        /// The group's variations.
        var variations: Set<String>
        /// The hour of the latest answer that showed it; `nil` if written before hours were.
        var shown: Int?
        /// The hour of the latest answer at all; written here because earlier versions read nothing but groups.
        var answered: Int?
    }

    private(set) var groups: [String: Group] = [:]
    /// The hour of the latest answer.
    private var answered: Int?
    /// A day, and the rest of the hour in which a group was shown.
    private static let window = 25

    init() {}

    /// Reads what was stored; an unreadable value counts as missing.
    init(stored bytes: [UInt8]) {
        groups = (try? JSONDecoder().decode([String: Group].self, from: Data(bytes))) ?? [:]
        answered = groups.values.compactMap(\.answered).max()
    }

    /// The stored form.
    var stored: [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(groups)).map(Array.init)
    }

    /// The hours since 1970, the unit of what is kept: more exact times would be written more often.
    static func hour(of date: Date) -> Int { Int((date.timeIntervalSince1970 / 3_600).rounded(.down)) }

    /// Adds an answer's assignments.
    mutating func note(_ assignments: [Assignment], at hour: Int) {
        // If a clock was ahead earlier, a group that is shown must not look older than other answers.
        let hour = max(hour, answered ?? hour)
        let shown = assignments.filter { !$0.isHoldout }
        // Most answers tell nothing new, and aren't worth a copy.
        if answered == hour, shown.allSatisfy({ isKnown($0, at: hour) }) { return }
        answered = hour
        for assignment in shown {
            var group = groups[assignment.group] ?? Group(name: assignment.experiment.id, variations: [])
            group.variations.insert(assignment.variation.id)
            group.shown = hour
            groups[assignment.group] = group
        }
        settle()
    }

    /// Adds what another instance has seen.
    mutating func merge(_ other: SeenGroups) {
        groups.merge(other.groups) { own, other in
            var group = own
            group.variations.formUnion(other.variations)
            group.shown = Self.later(own.shown, other.shown)
            return group
        }
        answered = Self.later(answered, other.answered)
        settle()
    }

    /// The experiments that may still run, by group.
    var running: [VendorExperiment] {
        groups.sorted { $0.key < $1.key }.filter { !isFinished($0.value) }.map { key, group in
            VendorExperiment(
                Experiment(id: group.name),
                group: key,
                arms: group.variations.sorted().map { VendorExperiment.Arm(Variation(id: $0)) }
            )
        }
    }

    /// Returns for at least how many more hours a group counts as running if it isn't shown again.
    func hoursLeft(of group: String, at hour: Int) -> Int {
        guard let shown = groups[group]?.shown else { return Self.window }
        return max(0, shown + Self.window - hour)
    }

    private func isKnown(_ assignment: Assignment, at hour: Int) -> Bool {
        guard let group = groups[assignment.group] else { return false }
        return group.shown == hour && group.variations.contains(assignment.variation.id)
    }

    private func isFinished(_ group: Group) -> Bool {
        guard let shown = group.shown, let answered else { return false }
        return answered - shown >= Self.window
    }

    /// Sets each group's latest answer; a group without an hour counts as shown by that answer.
    private mutating func settle() {
        guard let answered else { return }
        for key in groups.keys {
            groups[key]?.answered = answered
            if groups[key]?.shown == nil { groups[key]?.shown = answered }
        }
    }

    private static func later(_ one: Int?, _ two: Int?) -> Int? { [one, two].compactMap(\.self).max() }
}
