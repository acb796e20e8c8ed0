import Experimentation

/// One difference between two manifests.
public struct ManifestChange: Sendable, Equatable {
    /// The kind of difference, in the OpenFeature command line's words.
    public enum Kind: String, Sendable { case add, remove, change }

    /// The kind of difference.
    public var kind: Kind
    /// The flag's key.
    public var key: String
    /// The flag before; `nil` if it was added.
    public var old: FlagManifest.Flag?
    /// The flag after; `nil` if it was removed.
    public var new: FlagManifest.Flag?

    /// The names of the properties in ``FlagManifest/Flag/document`` that differ; empty unless the flag changed.
    public var properties: [String] {
        guard let old = old?.document.objectValue, let new = new?.document.objectValue else { return [] }
        return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }
}

extension FlagManifest {
    /// Returns the changes that turn this manifest into another one, by key; ignores line numbers.
    public func changes(to other: FlagManifest) -> [ManifestChange] {
        let old = Dictionary(flags.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        let new = Dictionary(other.flags.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        return Set(old.keys).union(new.keys).sorted().compactMap { key in
            switch (old[key], new[key]) {
            case (let old?, nil): ManifestChange(kind: .remove, key: key, old: old)
            case (nil, let new?): ManifestChange(kind: .add, key: key, new: new)
            case (let old?, let new?) where !old.isSame(as: new):
                ManifestChange(kind: .change, key: key, old: old, new: new)
            default: nil
            }
        }
    }

    /// The manifest as a file's JSON, keys sorted.
    public var json: FlagValue {
        .object([
            "flags": .object(
                Dictionary(flags.map { ($0.key, $0.document) }, uniquingKeysWith: { $1 })
            )
        ])
    }
}

extension FlagManifest.Flag {
    /// The flag as in a file.
    public var document: FlagValue {
        var members: [String: FlagValue] = ["flagType": .string(type.rawValue), "defaultValue": defaultValue]
        if !description.isEmpty { members["description"] = .string(description) }
        if let shape { members["schema"] = shape.document }
        return .object(members)
    }

    fileprivate func isSame(as other: FlagManifest.Flag) -> Bool {
        type == other.type && defaultValue == other.defaultValue && description == other.description
            && shape == other.shape
    }
}
