import Experimentation

/// The rules of several vendors as one: a catalogue over all of them, and for each flag the line of those who decide it.
final class ComposedRuleset: Ruleset {
    /// The rules of one vendor.
    struct Rules: Sendable {
        var ruleset: any Ruleset
        /// Whether a later answer was bad.
        var isStale = false
    }

    /// One vendor in the line of a flag.
    private struct Place: Sendable {
        var part: Int
        /// The flag's index in the vendor's catalogue; -1 if it has no such flag, -2 if it has no rules.
        var flag: Int
        /// Where the vendor's outcomes begin among the flag's.
        var start: Int
    }

    private struct Flag: Sendable {
        var line: [Place]
        /// How many outcomes come from vendors; behind them stand "not ready" and "off".
        var count: Int
    }

    let catalogue: FlagCatalogue
    private let parts: Parts
    private let rules: [Rules?]
    private let flags: [Flag]
    /// Where each vendor's assignments begin in the catalogue.
    private let starts: [Int]

    /// Lays rules over each other.
    ///
    /// - Parameters:
    ///   - rules: The rules of each vendor that decides, in their order; `nil` where there are none yet.
    ///   - parts: The vendors.
    init(_ rules: [Rules?], of parts: Parts) {
        self.rules = rules
        self.parts = parts
        var assignments: [Assignment] = []
        var starts: [Int] = []
        for (part, rules) in zip(parts.deciding, rules) {
            starts.append(assignments.count)
            assignments += (rules?.ruleset.catalogue.assignments ?? []).map { $0.decided(by: part.name) }
        }
        self.starts = starts
        var flags: [Flag] = []
        var catalogued: [FlagCatalogue.Flag] = []
        for key in Self.keys(rules, parts.table.names) {
            var flag = Flag(line: [], count: 0)
            var outcomes: [Resolution] = []
            for part in parts.line(for: key) {
                guard let own = rules[part] else {
                    flag.line.append(Place(part: part, flag: -2, start: 0))
                    continue
                }
                let catalogue = own.ruleset.catalogue
                let index = catalogue.index(of: key) ?? -1
                flag.line.append(Place(part: part, flag: index, start: outcomes.count))
                for outcome in 0..<catalogue.outcomeCount(ofFlag: index) {
                    guard let resolution = catalogue.resolution(ofFlag: index, outcome: outcome) else { continue }
                    outcomes.append(
                        resolution.decided(
                            by: parts.deciding[part].name,
                            isStale: own.isStale,
                            assignmentsFrom: starts[part]
                        )
                    )
                }
            }
            guard flag.line.contains(where: { $0.flag != -1 }) else { continue }
            flag.count = outcomes.count
            flags.append(flag)
            catalogued.append(FlagCatalogue.Flag(key, outcomes: outcomes + [.notReady, .off]))
        }
        self.flags = flags
        catalogue = FlagCatalogue(flags: catalogued, assignments: assignments)
    }

    /// Every flag that somebody has or that stands in the table by name, each once.
    private static func keys(_ rules: [Rules?], _ named: [String]) -> [String] {
        var seen: Set<[UInt8]> = []
        let all = rules.flatMap { $0?.ruleset.catalogue.keys ?? [] } + named
        return all.filter { seen.insert(Array($0.utf8)).inserted }
    }

    func decisions(for context: EvaluationContext) -> Decisions {
        let own = zip(parts.deciding, rules).map { part, rules -> Decisions? in
            part.killSwitch.isOn ? nil : rules?.ruleset.decisions(for: part.context(context))
        }
        let outcomes = flags.indices.map { flag in
            outcome(flag) { place in own[place.part]?.outcome(ofFlag: place.flag) }
        }
        let assigned = zip(own, starts).flatMap { decisions, start in
            decisions?.assignmentIndices.map { $0 + start } ?? []
        }
        return Decisions(catalogue: catalogue, outcomes: outcomes, alsoAssigned: assigned)
    }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard flag >= 0, flag < flags.count else { return nil }
        return outcome(flag) { place in
            rules[place.part]?.ruleset.outcome(ofFlag: place.flag, for: parts.deciding[place.part].context(context))
        }
    }

    /// Which of the outcomes it is, as the line goes; `ask` is called for vendors that have the flag.
    @inline(__always)
    private func outcome(_ index: Int, _ ask: (Place) -> Int?) -> Int? {
        let flag = flags[index]
        let said = parts.table.fallback.first(in: flag.line) { place -> Said<Int> in
            if parts.deciding[place.part].killSwitch.isOn { return .off }
            if place.flag == -2 { return .notReady }
            guard place.flag >= 0, let outcome = ask(place), outcome >= 0 else { return .absent }
            let found = place.start + outcome
            guard found < flag.count else { return .absent }
            return parts.table.fallback == .firstSuccessful
                && catalogue.resolution(ofFlag: index, outcome: found)?.error != nil ? .faulty(found) : .value(found)
        }
        return switch said {
        case .value(let outcome), .faulty(let outcome): outcome
        case .notReady: flag.count
        case .off: flag.count + 1
        case .absent: nil
        }
    }
}
