import Experimentation

/// How often two vendors assign users the same variation, and what to do about the differences.
public struct Agreement: Sendable, Hashable, Codable {
    /// The current vendor, or the file with its rules.
    public var from: String
    /// The new vendor, or the file with its rules.
    public var to: String
    /// The number of users that both vendors decided for.
    public var users: Int
    /// The number of users that one of the vendors gave no answer for.
    public var unanswered: Int
    /// The number of input lines that weren't valid users.
    public var unreadable: Int
    /// The number of users that the current vendor holds out of experiments.
    public var heldOutBefore: Int
    /// The number of users that the new vendor holds out of experiments.
    public var heldOutAfter: Int
    /// Whether the new vendor honors imported assignments.
    public var keepsAssignments: Bool
    /// The experiments: those to finish first, then by the number of users who would change variation.
    public var experiments: [Experiment]
    /// The exposures that arrive, by vendor and fault profile.
    public var exposures: [ExposureRatio]

    /// What to do with an experiment that is running on the day of the switch.
    public enum Advice: String, Sendable, Hashable, Codable, CaseIterable {
        /// It ends with the switch, or its users change variation in any case: finish it before.
        case finishFirst
        /// Its users keep their variations if the assignments are imported.
        case importFirst
        /// Its users keep their variations without an import.
        case carryOn
        /// It starts with the switch.
        case starts
        /// None of the users takes part, so nothing is known.
        case nobody
    }

    /// An experiment.
    public struct Experiment: Sendable, Hashable, Codable {
        /// The id at the current vendor; at the new vendor if only that vendor has it.
        public var id: String
        /// The name.
        public var name: String
        /// What to do with it.
        public var advice: Advice
        /// The reason, and the precise action.
        public var reason: String
        /// How its variations were paired; `nil` if only one vendor has it.
        public var pairedBy: Pairing.Way?
        /// The variations of the current vendor.
        public var before: [String]
        /// The variations of the new vendor.
        public var after: [String]
        /// The number of users by variation before (rows) and after (columns); the last row and column are for users
        /// outside.
        public var matrix: [[Int]]
        /// The same after importing the assignments.
        public var imported: [[Int]]
        /// The number of users who take part before.
        public var users: Int
        /// The number of those who get another variation, or none.
        public var changed: Int
        /// The number of those who do so after importing the assignments.
        public var changedImported: Int
        /// The number of users who join it.
        public var joined: Int
        /// Whether the allocation before matches its weights; `nil` if there are too few users to tell, or no two
        /// variations with a weight.
        public var ratioBefore: RatioTest?
        /// Whether the allocation after matches its weights; `nil` as above.
        public var ratioAfter: RatioTest?
        /// Whether the allocation after importing matches the new vendor's weights, without the users that a vendor has
        /// on a list; `nil` as above, and if the new vendor doesn't honor imported assignments.
        public var ratioImported: RatioTest?
        /// Whether ``ratioBefore`` is missing only because there are too few users.
        public var isTooFewBefore = false
        /// Whether ``ratioAfter`` is missing only because there are too few users.
        public var isTooFewAfter = false
        /// Whether ``ratioImported`` is missing only because there are too few users.
        public var isTooFewImported = false

        /// The share of its users whose variation changes without an import, from 0 to 1.
        public var share: Double { users > 0 ? Double(changed) / Double(users) : 0 }
        /// The same after importing the assignments.
        public var shareImported: Double { users > 0 ? Double(changedImported) / Double(users) : 0 }
    }

    /// The maximum share of changed users at which an import is recommended.
    public static let tolerated = 0.001

    /// The experiments to finish before the switch.
    public var toFinish: [Experiment] { experiments.filter { $0.advice == .finishFirst } }
}

extension AgreementRunner {
    /// Evaluates the counts.
    ///
    /// - Parameters:
    ///   - count: The counts.
    ///   - unreadable: The number of input lines that weren't valid users.
    ///   - exposures: The exposures that arrived.
    /// - Returns: The agreement.
    public func agreement(
        of count: AgreementCount,
        unreadable: Int = 0,
        exposures: [ExposureRatio] = []
    ) -> Agreement {
        let found = zip(pairing.pairs, count.tables).map { experiment($0, $1) }
        let order = Agreement.Advice.allCases
        return Agreement(
            from: before.name,
            to: after.name,
            users: count.users,
            unanswered: count.unanswered,
            unreadable: unreadable,
            heldOutBefore: count.heldOutBefore,
            heldOutAfter: count.heldOutAfter,
            keepsAssignments: after.keepsAssignments,
            experiments: found.enumerated().sorted { one, other in
                let places = [one, other].map { order.firstIndex(of: $0.element.advice) ?? 0 }
                if places[0] != places[1] { return places[0] < places[1] }
                if one.element.share != other.element.share { return one.element.share > other.element.share }
                return one.offset < other.offset
            }.map(\.element),
            exposures: exposures
        )
    }

    private func experiment(_ pair: Pairing.Pair, _ table: AgreementCount.Table) -> Agreement.Experiment {
        let old = pair.before.map { before.experiments[$0] }
        let new = pair.after.map { after.experiments[$0] }
        let inside = table.rows - 1
        func changes(_ cells: [Int]) -> Int {
            (0..<inside).reduce(0) { sum, row in
                let kept = pair.variations[row].map { cells[row * table.columns + $0] } ?? 0
                return sum + cells[(row * table.columns)..<((row + 1) * table.columns)].reduce(0, +) - kept
            }
        }
        func rows(_ cells: [Int]) -> [[Int]] {
            (0..<table.rows).map { Array(cells[($0 * table.columns)..<(($0 + 1) * table.columns)]) }
        }
        let (weightsBefore, weights) = (old?.variations.map(\.weight) ?? [], new?.variations.map(\.weight) ?? [])
        var experiment = Agreement.Experiment(
            id: old?.id ?? new?.id ?? "",
            name: old?.name ?? new?.name ?? "",
            advice: .carryOn,
            reason: "",
            pairedBy: pair.way,
            before: old?.variations.map(\.name) ?? [],
            after: new?.variations.map(\.name) ?? [],
            matrix: rows(table.plain),
            imported: rows(table.imported),
            users: table.plain.prefix(inside * table.columns).reduce(0, +),
            changed: changes(table.plain),
            changedImported: changes(table.imported),
            joined: table.plain.suffix(table.columns).dropLast().reduce(0, +),
            ratioBefore: RatioTest(observed: table.drawnBefore, weights: weightsBefore),
            ratioAfter: RatioTest(observed: table.drawnAfter, weights: weights),
            ratioImported: after.keepsAssignments ? RatioTest(observed: table.drawnImported, weights: weights) : nil,
            isTooFewBefore: RatioTest.isTooFew(observed: table.drawnBefore, weights: weightsBefore),
            isTooFewAfter: RatioTest.isTooFew(observed: table.drawnAfter, weights: weights),
            isTooFewImported: after.keepsAssignments
                && RatioTest.isTooFew(observed: table.drawnImported, weights: weights)
        )
        (experiment.advice, experiment.reason) = advice(for: experiment, isBefore: old != nil, isAfter: new != nil)
        return experiment
    }

    private func advice(
        for experiment: Agreement.Experiment,
        isBefore: Bool,
        isAfter: Bool
    ) -> (Agreement.Advice, String) {
        guard isBefore else { return (.starts, "\(before.name) has no such experiment: it begins with the switch") }
        guard isAfter else {
            return (.finishFirst, "\(after.name) has no such experiment: it ends with the switch, so finish it before")
        }
        guard experiment.users > 0 else { return (.nobody, "none of these users is in it: nothing is known") }
        if experiment.changed == 0 { return (.carryOn, "everybody keeps their variation: nothing to do") }
        let share = Wording.percent(experiment.share)
        guard after.keepsAssignments else {
            return (
                .finishFirst,
                "\(share) would change variation, and \(after.name) takes no assignments over: finish it before"
            )
        }
        if experiment.shareImported <= Agreement.tolerated {
            return (.importFirst, "\(share) would change variation: hand the assignments over before the switch")
        }
        let rest = Wording.percent(experiment.shareImported)
        return (
            .finishFirst,
            experiment.changedImported == experiment.changed
                ? "\(share) would change variation, and handing assignments over changes nothing: finish it before"
                : "\(share) would change variation, \(rest) although assignments are handed over: finish it before"
        )
    }
}
