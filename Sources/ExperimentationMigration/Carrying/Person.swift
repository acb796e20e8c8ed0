import Experimentation
import Foundation

/// A move's record of a user: the side, and the place in each experiment.
struct Person: Sendable, Hashable, Codable {
    /// A place in an experiment, with the ids of the vendor that assigned it first.
    struct Place: Sendable, Hashable, Codable {
        /// The variation's id; the old vendor's where the experiment is mapped.
        var variation: String
        /// The vendor that assigned it.
        var by: MigrationSide
    }

    /// The side to which the user is pinned; `nil` before the move was live for them.
    var side: MigrationSide?
    /// Whether the old vendor's places of this user are known.
    var isKnown = false
    /// Digests of the ids that also lead to this record.
    var names: Set<String> = []
    /// The places, by ``key(ofGroup:at:in:)``.
    var places: [String: Place] = [:]
    /// The old vendor's mapped groups in which it gave the user no place: by its traffic, a holdout or its audience.
    var outside: Set<String> = []
    /// Whether the user has seen a vendor change what the other one had shown.
    var hasChanged = false
    /// The name of the move that the record belongs to; `nil` if it was written by an import, or before moves had
    /// names.
    var move: String?

    /// Adds places at the old vendor, by group; existing ones stay.
    mutating func addOld(_ variations: [String: String]) {
        for (group, variation) in variations where places["old/\(group)"] == nil {
            places["old/\(group)"] = Place(variation: variation, by: .old)
        }
    }

    /// Whether the old vendor gave the user no place in the experiment of a key.
    func isOutside(_ key: String) -> Bool { key.hasPrefix("old/") && outside.contains(String(key.dropFirst(4))) }

    /// Whether the old vendor has answered for this user since the experiments of a mapping were mapped, with an answer
    /// that counts for each of them.
    func knows(_ mapping: Mapping) -> Bool { isKnown && mapping.experiments.allSatisfy(isSettled) }

    /// Records that the old vendor has answered for this user.
    ///
    /// - Parameters:
    ///   - mapping: The mapping of experiments.
    ///   - overrides: The device's own overrides; about their experiments, the answer says nothing.
    mutating func know(_ mapping: Mapping, overriddenBy overrides: [AssignmentOverride] = []) {
        isKnown = true
        let forced = Set(overrides.map(\.experiment))
        for mapped in mapping.experiments where !isSettled(mapped) && !forced.contains(mapped.old.experiment) {
            outside.insert(mapped.old.group)
        }
    }

    /// Whether the user has a place in an experiment, perhaps from before it was mapped, or stays outside of it.
    func isSettled(_ mapped: ExperimentMapping) -> Bool {
        places["old/\(mapped.old.group)"] != nil || places["new/\(mapped.new.group)"] != nil
            || outside.contains(mapped.old.group)
    }

    /// Returns an experiment's key: the old vendor's group if it is mapped, otherwise the vendor's own.
    static func key(ofGroup group: String, at side: MigrationSide, in mapping: Mapping) -> String {
        if side == .old { return "old/\(group)" }
        if let mapped = mapping.experiment(ofGroup: group, at: .new) { return "old/\(mapped.old.group)" }
        return "new/\(group)"
    }

    /// Records a vendor's assignments.
    ///
    /// - Parameters:
    ///   - assignments: The user's assignments at that vendor.
    ///   - side: The vendor.
    ///   - isSticky: Whether the vendor honors earlier assignments; if not, a later assignment replaces its earlier
    ///     one.
    ///   - mapping: The mapping of experiments.
    /// - Returns: The places that are new, by key.
    @discardableResult
    mutating func take(
        _ assignments: [Assignment],
        by side: MigrationSide,
        isSticky: Bool,
        in mapping: Mapping
    ) -> [String: Place] {
        var new: [String: Place] = [:]
        for assignment in assignments where !assignment.isHoldout && assignment.origin != .forcedHere {
            let key = Self.key(ofGroup: assignment.group, at: side, in: mapping)
            let isMapped = mapping.experiment(ofGroup: assignment.group, at: side) != nil
            let id = assignment.variation.id
            let translated =
                side == .new && isMapped
                ? mapping.translate(id, ofGroup: assignment.group, from: .new) : id
            guard let variation = translated else { continue }
            let place = Place(variation: variation, by: side)
            if let before = places[key] {
                if before.by == side, !isSticky, before.variation != variation { places[key] = place }
            } else {
                places[key] = place
                new[key] = place
                if isOutside(key) { outside.remove(String(key.dropFirst(4))) }
            }
        }
        return new
    }

    /// Returns what a vendor must be told so that the user keeps their places.
    func carried(to side: MigrationSide, policy: AssignmentPolicy, in mapping: Mapping) -> Carried {
        var carried = Carried()
        for (key, place) in places.sorted(by: { $0.key < $1.key }) {
            guard let (group, experiment, variation) = translate(key, place, to: side, mapping) else { continue }
            if policy.isSticky {
                carried.earlier[group] = variation
            } else if policy.allowsOverrides, place.by != side {
                carried.overrides.append(.include(experiment: experiment, variation: variation))
            } else {
                continue
            }
            if place.by != side { carried.groups.insert(group) }
        }
        if side == .new, policy.allowsOverrides {
            carried.overrides += outside.sorted().compactMap { group in
                mapping.experiment(ofGroup: group, at: .old).map { .exclude(experiment: $0.new.experiment) }
            }
        }
        return carried
    }

    private func translate(
        _ key: String,
        _ place: Place,
        to side: MigrationSide,
        _ mapping: Mapping
    ) -> (group: String, experiment: String, variation: String)? {
        let isOld = key.hasPrefix("old/")
        let group = String(key.dropFirst(4))
        if side == .old { return isOld ? (group, experimentAtOld(group, mapping), place.variation) : nil }
        guard isOld else { return (group, group, place.variation) }
        guard let mapped = mapping.experiment(ofGroup: group, at: .old),
            let variation = mapping.translate(place.variation, ofGroup: group, from: .old)
        else { return nil }
        return (mapped.new.group, mapped.new.experiment, variation)
    }

    private func experimentAtOld(_ group: String, _ mapping: Mapping) -> String {
        mapping.experiment(ofGroup: group, at: .old)?.old.experiment ?? group
    }
}

/// A user's places, in the form in which a vendor can be told about them.
struct Carried: Sendable, Hashable {
    /// Variations by group, for a vendor that honors earlier assignments.
    var earlier: [String: String] = [:]
    /// Overrides, for a vendor that accepts them.
    var overrides: [AssignmentOverride] = []
    /// The groups whose place was assigned by the other vendor.
    var groups: Set<String> = []
}

extension Person {
    private enum CodingKeys: CodingKey { case side, isKnown, names, places, outside, hasChanged, move }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        side = try values.decodeIfPresent(MigrationSide.self, forKey: .side)
        isKnown = try values.decode(Bool.self, forKey: .isKnown)
        names = try values.decode(Set<String>.self, forKey: .names)
        places = try values.decode([String: Place].self, forKey: .places)
        outside = try values.decodeIfPresent(Set<String>.self, forKey: .outside) ?? []
        hasChanged = try values.decodeIfPresent(Bool.self, forKey: .hasChanged) ?? false
        move = try values.decodeIfPresent(String.self, forKey: .move)
    }
}
