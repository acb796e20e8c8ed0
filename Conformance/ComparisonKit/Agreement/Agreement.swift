import Experimentation

/// How far two vendors agree on which variation users get, and what to do about it.
public struct Agreement: Sendable, Hashable, Codable {
    /// The vendor in use, or the file of its rules.
    public var from: String
    /// The vendor to change to, or the file of its rules.
    public var to: String
    /// How many users both vendors decided for.
    public var users: Int
    /// How many users one of the vendors gave no answer for.
    public var unanswered: Int
    /// How many lines of input were no users.
    public var unreadable: Int
    /// How many users are kept out of experiments by the vendor in use.
    public var heldOutBefore: Int
    /// How many users are kept out of experiments by the vendor to change to.
    public var heldOutAfter: Int
    /// Whether the vendor to change to honours assignments that are handed over.
    public var keepsAssignments: Bool
    /// The experiments: those to finish first come first, then by how many users would change.
    public var experiments: [Experiment]
    /// What arrives of exposures, by vendor and by what goes wrong meanwhile.
    public var exposures: [ExposureRatio]

    /// What to do with an experiment that runs on the day of the switch.
    public enum Advice: String, Sendable, Hashable, Codable, CaseIterable {
        /// It ends with the switch, or its users change variation whatever is done: finish it before.
        case finishFirst
        /// Its users keep their variations if the assignments are handed over.
        case importFirst
        /// Its users keep their variations by themselves.
        case carryOn
        /// It begins with the switch.
        case starts
        /// None of these users is in it, so nothing is known.
        case nobody
    }

    /// One experiment.
    public struct Experiment: Sendable, Hashable, Codable {
        /// The id before, or after where there is none before.
        public var id: String
        /// The name.
        public var name: String
        /// What to do with it.
        public var advice: Advice
        /// Why, and what exactly, for a person.
        public var reason: String
        /// How its variations were paired; `nil` if only one vendor has it.
        public var pairedBy: Pairing.Way?
        /// The variations before.
        public var before: [String]
        /// The variations after.
        public var after: [String]
        /// How many users go from each variation before, and from outside at the end, to each after, and to outside.
        public var matrix: [[Int]]
        /// The same with the assignments of before handed over.
        public var imported: [[Int]]
        /// How many users are in it before.
        public var users: Int
        /// How many of those get another variation, or none.
        public var changed: Int
        /// How many of those do so with the assignments handed over.
        public var changedImported: Int
        /// How many users come into it who weren't.
        public var joined: Int
        /// Whether the allocation before is in the ratio of its weights.
        public var ratioBefore: RatioTest?
        /// Whether the allocation after is in the ratio of its weights.
        public var ratioAfter: RatioTest?
        /// Whether what there is after the hand-over is in the ratio of the new vendor's weights.
        public var ratioImported: RatioTest?

        /// The share of its users who get another variation with nothing done, from 0 to 1.
        public var share: Double { users > 0 ? Double(changed) / Double(users) : 0 }
        /// The same with assignments handed over.
        public var shareImported: Double { users > 0 ? Double(changedImported) / Double(users) : 0 }
    }

    /// The share of users above which an experiment can't be carried over by an import.
    public static let tolerated = 0.001

    /// The experiments to finish before the switch.
    public var toFinish: [Experiment] { experiments.filter { $0.advice == .finishFirst } }
}

extension AgreementRunner {
    /// What the counts come to.
    ///
    /// - Parameters:
    ///   - count: The counts.
    ///   - unreadable: How many lines of input were no users.
    ///   - exposures: What arrived of exposures.
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
        let afterImport = (0..<(table.columns - 1)).map { column in
            (0..<table.rows).reduce(0) { $0 + table.imported[$1 * table.columns + column] }
        }
        let weights = new?.variations.map(\.weight) ?? []
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
            ratioBefore: RatioTest(observed: table.drawnBefore, weights: old?.variations.map(\.weight) ?? []),
            ratioAfter: RatioTest(observed: table.drawnAfter, weights: weights),
            ratioImported: after.keepsAssignments ? RatioTest(observed: afterImport, weights: weights) : nil
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
