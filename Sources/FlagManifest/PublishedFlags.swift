import Experimentation

/// What a vendor publishes of its flags, as far as one can see without the vendor's console: keys and values.
public struct PublishedFlags: Sendable, Equatable {
    /// The values that each flag can have, by key, as far as they are known; the first one is the vendor's first.
    public var values: [String: [FlagValue]]

    /// Creates them.
    public init(_ values: [String: [FlagValue]]) { self.values = values }

    /// What decisions show: all values of each flag where the vendor's rules are at hand, one user's where they aren't.
    public init(_ decisions: Decisions) {
        var values: [String: [FlagValue]] = [:]
        let catalogue = decisions.catalogue
        for (index, key) in catalogue.keys.enumerated() {
            let outcomes = (0..<catalogue.outcomeCount(ofFlag: index)).compactMap { outcome in
                catalogue.resolution(ofFlag: index, outcome: outcome)
            }
            var found: [FlagValue] = []
            for outcome in outcomes
            where outcome.error == nil && outcome.value != .null && !found.contains(outcome.value) {
                found.append(outcome.value)
            }
            values[key] = found
        }
        self.values = values
    }

    /// A manifest of what is published: the type that holds all of a flag's values, and the first value as its default.
    ///
    /// A flag without a value is of the type `object`, with `null` for its default: nothing more is known of it.
    public var manifest: FlagManifest {
        FlagManifest(
            values.map { key, values in
                FlagManifest.Flag(key, Self.type(of: values), default: values.first ?? .null)
            }
        )
    }

    private static func type(of values: [FlagValue]) -> FlagType {
        let types = Set(values.map(FlagType.init(of:)))
        if types == [.integer, .float] { return .float }
        return types.count == 1 ? types.first ?? .object : .object
    }
}

/// Where a manifest and a vendor don't agree on a flag.
public struct ManifestFinding: Sendable, Equatable {
    /// What is wrong.
    public enum Kind: String, Sendable {
        /// The manifest has it, the vendor hasn't: readers get the default.
        case missing
        /// The vendor has it, the manifest hasn't: nothing reads it by a typed key.
        case stale
        /// The vendor has values of another type: readers get the default, with a mismatch.
        case type
        /// No value of the vendor's is the manifest's default: who is in no experiment may see something else.
        case `default`
    }

    /// What is wrong.
    public var kind: Kind
    /// The flag's key.
    public var key: String
    /// What was found, for a person.
    public var detail: String
}

extension FlagManifest {
    /// Holds the manifest against what a vendor publishes.
    ///
    /// - Parameter published: The vendor's flags.
    /// - Returns: Where they don't agree, by key; empty if they do.
    public func findings(against published: PublishedFlags) -> [ManifestFinding] {
        var findings: [ManifestFinding] = []
        for flag in flags {
            guard let values = published.values[flag.key] else {
                findings.append(.init(kind: .missing, key: flag.key, detail: "the vendor has no such flag"))
                continue
            }
            if let other = values.first(where: { !flag.type.holds($0) }) {
                let type = FlagType(of: other).rawValue
                findings.append(.init(kind: .type, key: flag.key, detail: "\(flag.type.rawValue) here, \(type) there"))
            } else if !values.isEmpty, !values.contains(where: { flag.type.isEqual($0, flag.defaultValue) }) {
                findings.append(
                    .init(
                        kind: .default,
                        key: flag.key,
                        detail: "the default is none of the vendor's \(values.count) values"
                    )
                )
            }
        }
        let known = Set(flags.map(\.key))
        for key in published.values.keys.sorted() where !known.contains(key) {
            findings.append(.init(kind: .stale, key: key, detail: "the manifest doesn't have it"))
        }
        return findings.sorted { ($0.key, $0.kind.rawValue) < ($1.key, $1.kind.rawValue) }
    }
}

extension FlagType {
    /// Whether two values are the same to a reader of this type.
    fileprivate func isEqual(_ one: FlagValue, _ other: FlagValue) -> Bool {
        switch self {
        case .integer: one.intValue == other.intValue
        case .float: one.doubleValue == other.doubleValue
        case .boolean, .string, .object: one == other
        }
    }
}
