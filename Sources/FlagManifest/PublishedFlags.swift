import Experimentation

/// The flags that a vendor publishes, as far as they can be seen without its console: keys and values.
public struct PublishedFlags: Sendable, Equatable {
    /// The known values of each flag, by key, in the vendor's order.
    public var values: [String: [FlagValue]]

    /// Why no value of a flag can be read, by key, for flags that have nothing else.
    public var unreadable: [String: String] = [:]

    /// Creates published flags.
    public init(_ values: [String: [FlagValue]]) { self.values = values }

    /// Creates the flags that decisions reveal: all values if the vendor's rules are available, otherwise one user's.
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
            if found.isEmpty, let failed = outcomes.first(where: { $0.error != nil }) {
                unreadable[key] = failed.errorMessage ?? failed.error?.rawValue
            }
        }
        self.values = values
    }

    /// A manifest of these flags: the type that fits all values of a flag, and the first value as its default.
    ///
    /// A flag without known values has the type `object` and the default `null`.
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

/// A flag about which a manifest and a vendor disagree.
public struct ManifestFinding: Sendable, Equatable {
    /// The kind of disagreement.
    public enum Kind: String, Sendable {
        /// Only the manifest has it: readers get the default.
        case missing
        /// Only the vendor has it: no typed key reads it.
        case stale
        /// A vendor's value has another type or doesn't fit the schema: readers get the default and a type mismatch.
        case type
        /// The default is none of the vendor's values: users outside the experiment may see something else.
        case `default`
    }

    /// The kind of disagreement.
    public var kind: Kind
    /// The flag's key.
    public var key: String
    /// The finding, for people.
    public var detail: String
}

extension FlagManifest {
    /// Compares the manifest with the flags that a vendor publishes.
    ///
    /// - Parameter published: The vendor's flags.
    /// - Returns: The disagreements, by key; empty if there are none.
    public func findings(against published: PublishedFlags) -> [ManifestFinding] {
        var findings: [ManifestFinding] = []
        for flag in flags {
            guard let values = published.values[flag.key] else {
                findings.append(.init(kind: .missing, key: flag.key, detail: "the vendor has no such flag"))
                continue
            }
            if let fault = values.lazy.compactMap(flag.fault(of:)).first {
                findings.append(.init(kind: .type, key: flag.key, detail: fault))
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

extension FlagManifest.Flag {
    /// Returns why readers can't get a vendor's value; `nil` if they can.
    fileprivate func fault(of value: FlagValue) -> String? {
        guard type.holds(value) else { return "\(type.rawValue) here, \(FlagType(of: value).rawValue) there" }
        return shape?.mismatch(of: value, at: "value", isOpen: true)
    }
}

extension FlagType {
    /// Whether two values are equal for readers of this type.
    fileprivate func isEqual(_ one: FlagValue, _ other: FlagValue) -> Bool {
        switch self {
        case .integer: one.intValue == other.intValue
        case .float: one.doubleValue == other.doubleValue
        case .boolean, .string, .object: one == other
        }
    }
}
