extension Pairing {
    /// Finds faults in specified pairs: experiments and variations that a vendor doesn't have, or that are in two
    /// pairs.
    ///
    /// - Parameters:
    ///   - given: The specified pairs.
    ///   - before: The current vendor.
    ///   - after: The new vendor.
    /// - Returns: A line for each fault, with the pair's number and key.
    public static func faults(in given: [Given], from before: Decider, to after: Decider) -> [String] {
        var faults: [String] = []
        var seenBefore: [Int: Int] = [:]
        var seenAfter: [Int: Int] = [:]
        for (index, pair) in given.enumerated() {
            let number = index + 1
            func place(_ name: String, _ key: String, in side: Decider, _ seen: inout [Int: Int]) -> Int? {
                let experiments = side.experiments
                guard let place = experiments.place(of: name) else {
                    let known = oneOf(experiments.map(\.name))
                    faults.append("pair \(number): \(key): \(side.name) has no experiment \"\(name)\"; \(known)")
                    return nil
                }
                if let other = seen.updateValue(number, forKey: place) {
                    faults.append("pair \(number): \(key): \(experiments[place].name) is already in pair \(other)")
                }
                return place
            }
            let from = place(pair.before, "from", in: before, &seenBefore)
            let to = place(pair.after, "to", in: after, &seenAfter)
            guard let from, let to else { continue }
            faults += self.faults(
                in: pair.variations,
                (before.name, before.experiments[from]),
                (after.name, after.experiments[to])
            )
            .map { "pair \(number): \($0)" }
        }
        return faults
    }

    private static func faults(
        in variations: [String: String],
        _ before: (vendor: String, experiment: TestedExperiment),
        _ after: (vendor: String, experiment: TestedExperiment)
    ) -> [String] {
        var faults: [String] = []
        var seenBefore: Set<Int> = []
        var seenAfter: Set<Int> = []
        for (name, other) in variations.sorted(by: { $0.key < $1.key }) {
            func check(
                _ variation: String,
                of side: (vendor: String, experiment: TestedExperiment),
                _ seen: inout Set<Int>
            ) {
                let all = side.experiment.variations
                let problem: String
                if let place = all.place(of: variation) {
                    if seen.insert(place).inserted { return }
                    problem = "\(all[place].name) of \(side.experiment.name) is already paired"
                } else {
                    problem =
                        "\(side.vendor) has no variation \"\(variation)\" of \(side.experiment.name); "
                        + oneOf(all.map(\.name))
                }
                faults.append("variations.\(name): \(problem)")
            }
            check(name, of: before, &seenBefore)
            check(other, of: after, &seenAfter)
        }
        return faults
    }

    private static func oneOf(_ names: [String]) -> String {
        if names.isEmpty { return "it has none" }
        return "expected one of " + names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    }
}
