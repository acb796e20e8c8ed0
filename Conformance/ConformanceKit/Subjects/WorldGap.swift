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
    /// - Returns: The capability; `nil` if the path belongs to none, such as a deliberately malformed record.
    public func denied(in world: World) -> Capability? {
        let parts = path.split(separator: "/").map(String.init)
        return switch parts.first {
        case "flags": denied(among: world.flags)
        case "experiments":
            switch parts.last {
            case "targeting" where parts.count > 2: .targeting
            case "sticky" where parts.count > 2: .stickyAssignments
            case "layer" where parts.count > 2: .layers
            default: .experiments
            }
        case "holdouts": .holdouts
        case "campaigns": .campaigns
        case "killSwitch": .killSwitch
        default: nil
        }
    }

    private func denied(among flags: [World.Flag]) -> Capability? {
        // Keys may contain slashes.
        guard let flag = flags.first(where: { path == "flags/\($0.key)" || path.hasPrefix("flags/\($0.key)/") }) else {
            return .flags
        }
        if flag.isMalformed { return nil }
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
