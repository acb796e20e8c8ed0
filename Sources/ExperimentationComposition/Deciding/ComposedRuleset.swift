import Experimentation

/// The rules of several vendors as one: a combined catalogue and, for each flag, the order of its vendors.
final class ComposedRuleset: Ruleset {
    /// The rules of one vendor.
    struct Rules: Sendable {
        var ruleset: any Ruleset
        /// Whether a later fetch failed.
        var isStale = false
    }

    /// A vendor's place in a flag's order.
    private struct Place: Sendable {
        var part: Int
        /// The flag's index in the vendor's catalogue; -1 if the vendor doesn't have it, -2 if there are no rules.
        var flag: Int
        /// The index of the vendor's first outcome among the flag's outcomes.
        var start: Int
    }

    private struct Flag: Sendable {
        /// The range of the flag's vendors in the shared array of places.
        var line: Range<Int>
        /// The number of the vendors' outcomes; "not ready" and "off" follow them.
        var count = 0
    }

    let catalogue: FlagCatalogue
    /// The rules of the only vendor that decides, whose flags and values have the same indices here; `nil` if reads can't
    /// go there directly.
    private let only: (any Ruleset)?
    private let board: SwitchBoard
    private let direct: DirectTable
    private let readers: PartReaders
    private let fallback: DecisionTable.Fallback
    private let flags: [Flag]
    // One array for all flags, so that a read doesn't retain a flag's own array.
    private let places: [Place]
    /// The index of each vendor's first assignment in the catalogue.
    private let starts: [Int]

    /// Combines rules.
    ///
    /// - Parameters:
    ///   - rules: The rules of each deciding vendor, in order; `nil` where there are none yet.
    ///   - parts: The vendors.
    init(_ rules: [Rules?], of parts: Parts) {
        let readers = PartReaders(zip(parts.deciding, rules).map { PartReader($0, $1?.ruleset) })
        self.readers = readers
        fallback = parts.table.fallback
        var assignments: [Assignment] = []
        var starts: [Int] = []
        for (part, rules) in zip(parts.deciding, rules) {
            starts.append(assignments.count)
            assignments += (rules?.ruleset.catalogue.assignments ?? []).map { $0.decided(by: part.name) }
        }
        self.starts = starts
        var flags: [Flag] = []
        var places: [Place] = []
        var catalogued: [FlagCatalogue.Flag] = []
        for key in Self.keys(rules, parts.table.names) {
            var line: [Place] = []
            var outcomes: [Resolution] = []
            for part in parts.line(for: key) {
                guard let own = rules[part] else {
                    line.append(Place(part: part, flag: -2, start: 0))
                    continue
                }
                let catalogue = own.ruleset.catalogue
                let index = catalogue.index(of: key) ?? -1
                line.append(Place(part: part, flag: index, start: outcomes.count))
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
            guard line.contains(where: { $0.flag != -1 }) else { continue }
            flags.append(Flag(line: places.count..<places.count + line.count, count: outcomes.count))
            places += line
            catalogued.append(FlagCatalogue.Flag(key, outcomes: outcomes + [.notReady, .off]))
        }
        self.flags = flags
        self.places = places
        board = parts.board
        only = Self.only(rules, parts, catalogued.map(\.key))
        direct = DirectTable(
            flags.map { flag in
                Self.direct(
                    places[flag.line],
                    flag.count,
                    readers,
                    isFirstMatch: !parts.table.fallback.passesFailuresOver
                )
            }
        )
        catalogue = FlagCatalogue(flags: catalogued, assignments: assignments)
    }

    /// Returns every flag of a vendor or of the table's names, each once.
    private static func keys(_ rules: [Rules?], _ named: [String]) -> [String] {
        var seen: Set<[UInt8]> = []
        let all = rules.flatMap { $0?.ruleset.catalogue.keys ?? [] } + named
        return all.filter { seen.insert(Array($0.utf8)).inserted }
    }

    /// The rules of the only vendor that decides, if a read may go there directly.
    private static func only(_ rules: [Rules?], _ parts: Parts, _ keys: [String]) -> (any Ruleset)? {
        guard rules.count == 1, let only = rules[0]?.ruleset, !parts.board.isAnyOn else { return nil }
        return only.catalogue.keys.elementsEqual(keys) { $0.utf8.elementsEqual($1.utf8) } ? only.reader : nil
    }

    /// Where a flag is read while no vendor is switched off: at the first vendor of its line that has it, unless another
    /// one might answer instead.
    private static func direct(
        _ line: ArraySlice<Place>,
        _ count: Int,
        _ readers: PartReaders,
        isFirstMatch: Bool
    ) -> DirectTable.Entry {
        let candidates = line.filter { $0.flag != -1 }
        guard let first = candidates.first, first.flag >= 0, isFirstMatch || candidates.count == 1 else {
            return .none
        }
        let reader = Unmanaged.passUnretained(readers.all[first.part])
        return DirectTable.Entry(reader: reader, flag: first.flag, start: first.start, count: count)
    }

    var reader: any Ruleset { only ?? self }

    func decisions(for context: EvaluationContext) -> Decisions {
        let own = readers.all.map { $0.killSwitch.isOn ? nil : $0.decisions(for: context) }
        let outcomes = flags.indices.map { flag in
            outcome(flag) { place in own[place.part]?.outcome(ofFlag: place.flag) }
        }
        let assigned = zip(own, starts).flatMap { decisions, start in
            decisions?.assignmentIndices.map { $0 + start } ?? []
        }
        return Decisions(catalogue: catalogue, outcomes: outcomes, alsoAssigned: assigned)
    }

    func outcome(ofFlag flag: Int, for context: EvaluationContext) -> Int? {
        guard flag >= 0, flag < direct.count else { return nil }
        let entry = direct[flag]
        if let reader = entry.reader, !board.isAnyOn {
            let own = reader._withUnsafeGuaranteedRef { $0.outcome(ofFlag: entry.flag, for: context) }
            if let own, own >= 0, entry.start + own < entry.count { return entry.start + own }
        }
        return inLine(flag, context)
    }

    /// Tries the vendors of the flag's line in order.
    @inline(never)
    private func inLine(_ flag: Int, _ context: EvaluationContext) -> Int? {
        outcome(flag) { place in
            readers.read(place.part) { $0.outcome(ofFlag: place.flag, for: context) }
        }
    }

    /// Returns the outcome of the first vendor that answers; calls `ask` for vendors that have the flag.
    @inline(__always)
    private func outcome(_ index: Int, _ ask: (Place) -> Int?) -> Int? {
        let flag = flags[index]
        let said = fallback.first(in: flag.line) { position -> Said<Int> in
            let place = places[position]
            if readers.read(place.part, { $0.killSwitch.isOn }) { return .off }
            if place.flag == -2 { return .notReady }
            guard place.flag >= 0, let outcome = ask(place), outcome >= 0 else { return .absent }
            let found = place.start + outcome
            guard found < flag.count else { return .absent }
            return isFaulty(found, of: index) ? .faulty(found) : .value(found)
        }
        return switch said {
        case .value(let outcome), .faulty(let outcome): outcome
        case .notReady: flag.count
        case .off: flag.count + 1
        case .absent: nil
        }
    }

    /// Whether an outcome is an error after which the next vendor is asked.
    @inline(__always)
    private func isFaulty(_ outcome: Int, of flag: Int) -> Bool {
        guard fallback.passesFailuresOver else { return false }
        return catalogue.resolution(ofFlag: flag, outcome: outcome)?.error != nil
    }
}
