import Experimentation

/// A part of a world that a vendor can't represent.
public struct WorldGap: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The path in the world, such as `flags/theme`, `experiments/checkout/forced`, `holdouts`, `campaigns` or
    /// `killSwitch`; everything below it is missing too.
    public var path: String
    /// The reason.
    public var reason: String

    /// Creates a gap.
    public init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    /// Whether a required path lies within this gap, or contains it.
    public func covers(_ need: String) -> Bool {
        need == path || need.hasPrefix(path + "/") || path.hasPrefix(need + "/")
    }

    /// The path and the reason.
    public var description: String { "\(path): \(reason)" }

    /// The capability that a vendor with this gap lacks.
    ///
    /// - Parameter world: The world with the gap.
    /// - Returns: The capability; `nil` if the path belongs to none, such as a deliberately malformed record, forced
    ///   users or a share of the traffic where the world has them.
    public func denied(in world: World) -> Capability? {
        let parts = path.split(separator: "/").map(String.init)
        return switch parts.first {
        case "flags": denied(among: world.flags)
        case "experiments": denied(among: world.experiments)
        case "holdouts": .holdouts
        case "campaigns": .campaigns
        case "killSwitch": .killSwitch
        default: nil
        }
    }

    private func denied(among experiments: [World.Experiment]) -> Capability? {
        // Ids may contain slashes.
        guard let experiment = experiments.first(where: { path.hasPrefix("experiments/\($0.id)/") }) else {
            return .experiments
        }
        // No capability stands for forced users or a share of the traffic: without them, there are still experiments.
        // Such a gap in an experiment that has neither excuses nothing.
        return switch path.dropFirst("experiments/\(experiment.id)/".count) {
        case "targeting": .targeting
        case "sticky": .stickyAssignments
        case "layer": .layers
        case "forced" where !experiment.forced.isEmpty: nil
        case "traffic" where experiment.variations.reduce(0) { $0 + $1.weight } < 100: nil
        default: .experiments
        }
    }

    private func denied(among flags: [World.Flag]) -> Capability? {
        // Keys may contain slashes.
        guard let flag = flags.first(where: { path == "flags/\($0.key)" || path.hasPrefix("flags/\($0.key)/") }) else {
            return .flags
        }
        if flag.isMalformed { return nil }
        if flag.isDisabled, path == "flags/\(flag.key)/disabled" { return nil }
        let comparisons = flag.rules.flatMap { $0.when.map(\.comparison) }
        if comparisons.contains(where: \.isOfDates) { return .dateTargeting }
        if comparisons.contains(where: \.isOfVersions) { return .versionTargeting }
        if !flag.rules.isEmpty { return .targeting }
        return switch flag.value {
        case .object, .array: .objectFlags
        default: .flags
        }
    }
}
