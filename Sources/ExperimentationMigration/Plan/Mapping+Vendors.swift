import Experimentation

extension Mapping {
    /// Creates a first mapping, to be corrected by hand: matches experiments by id, name or the flags that they set,
    /// variations by the values that they set, otherwise by id or name.
    public init(matching old: [VendorExperiment], with new: [VendorExperiment]) {
        var free = new.filter(\.isTest)
        var experiments: [ExperimentMapping] = []
        for experiment in old where experiment.isTest {
            guard let index = free.bestMatch(for: experiment) else { continue }
            let other = free.remove(at: index)
            let variations = experiment.variations(in: other)
            if variations.isEmpty { continue }
            experiments.append(
                ExperimentMapping(
                    old: .init(experiment.experiment.id, group: experiment.group),
                    new: .init(other.experiment.id, group: other.group),
                    variations: variations
                )
            )
        }
        self.init(experiments)
    }

    /// Returns the faults of this mapping, given both vendors' experiments.
    ///
    /// - Parameters:
    ///   - old: The old vendor's experiments; empty if they aren't known, which skips their checks.
    ///   - new: The new vendor's experiments, likewise.
    /// - Returns: Unknown experiments and variations, unmapped variations, and pairs whose values differ.
    public func faults(old: [VendorExperiment], new: [VendorExperiment]) -> [PlanFault] {
        var faults: [PlanFault] = []
        for (index, mapped) in experiments.enumerated() {
            let key = "mapping[\(index)]"
            let one = old.first { $0.group == mapped.old.group }
            let two = new.first { $0.group == mapped.new.group }
            for (side, known, found) in [("old", old, one), ("new", new, two)] where found == nil && !known.isEmpty {
                let group = side == "old" ? mapped.old.group : mapped.new.group
                faults.append(PlanFault("\(key).\(side)", "the \(side) vendor has no experiment \"\(group)\""))
            }
            for (oldID, newID) in mapped.variations.sorted(by: { $0.key < $1.key }) {
                let place = "\(key).variations.\(oldID)"
                let oneArm = one?.arm(oldID)
                let twoArm = two?.arm(newID)
                if one != nil, oneArm == nil {
                    faults.append(PlanFault(place, "the old vendor has no variation \"\(oldID)\""))
                }
                if two != nil, twoArm == nil {
                    faults.append(PlanFault(place, "the new vendor has no variation \"\(newID)\""))
                }
                guard let oneArm, let twoArm else { continue }
                for flag in Set(oneArm.values.keys).union(twoArm.values.keys).sorted()
                where !FlagComparison.areEqual(oneArm.values[flag], twoArm.values[flag]) {
                    faults.append(PlanFault(place, "the flag \"\(flag)\" has another value in \"\(newID)\""))
                }
            }
            for arm in one?.arms ?? [] where mapped.variations[arm.variation.id] == nil {
                faults.append(PlanFault("\(key).variations", "\"\(arm.variation.id)\" of the old vendor isn't mapped"))
            }
            for arm in two?.arms ?? [] where !mapped.variations.values.contains(arm.variation.id) {
                faults.append(PlanFault("\(key).variations", "\"\(arm.variation.id)\" of the new vendor isn't mapped"))
            }
        }
        return faults
    }

    /// Returns the old vendor's running tests that aren't mapped.
    public func unmapped(of old: [VendorExperiment]) -> [VendorExperiment] {
        old.filter { $0.isTest && experiment(ofGroup: $0.group, at: .old) == nil }
    }
}

extension VendorExperiment {
    fileprivate func arm(_ id: String) -> Arm? { arms.first { $0.variation.id == id } }

    fileprivate var flags: Set<String> { Set(arms.flatMap(\.values.keys)) }

    fileprivate func variations(in other: VendorExperiment) -> [String: String] {
        var free = other.arms
        var found: [String: String] = [:]
        for arm in arms {
            let byValue = free.indices.filter { !arm.values.isEmpty && free[$0].values == arm.values }
            let byName = free.firstIndex {
                $0.variation.id == arm.variation.id || $0.variation.name == arm.variation.name
            }
            // Values decide; names break ties.
            let index = byValue.count == 1 ? byValue[0] : byName
            if let index { found[arm.variation.id] = free.remove(at: index).variation.id }
        }
        return found
    }
}

extension [VendorExperiment] {
    fileprivate func bestMatch(for experiment: VendorExperiment) -> Int? {
        firstIndex { $0.experiment.id == experiment.experiment.id }
            ?? firstIndex { $0.experiment.name.lowercased() == experiment.experiment.name.lowercased() }
            ?? firstIndex { !experiment.flags.isEmpty && $0.flags == experiment.flags }
    }
}
