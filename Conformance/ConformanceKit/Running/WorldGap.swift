import Experimentation

/// Something of a world that a vendor can't hold.
public struct WorldGap: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The place in the world, as `flags/theme`, `experiments/checkout/forced`, `holdouts`, `campaigns` or
    /// `killSwitch`; what lies below it is missing too.
    public var path: String
    /// Why, for a person.
    public var reason: String

    /// Creates a gap.
    public init(_ path: String, _ reason: String) {
        self.path = path
        self.reason = reason
    }

    /// Whether something that is needed lies in this gap, or contains it.
    public func covers(_ need: String) -> Bool {
        need == path || need.hasPrefix(path + "/") || path.hasPrefix(need + "/")
    }

    /// The place and the reason.
    public var description: String { "\(path): \(reason)" }

    /// The capability that a vendor with this gap doesn't have.
    ///
    /// - Parameter world: The world with the gap.
    /// - Returns: The capability; `nil` if the place is no part of any, as a record that is broken on purpose.
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
        // Keys may have slashes in them.
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
