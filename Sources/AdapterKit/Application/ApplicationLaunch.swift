/// Whether a start of the application is the first of an installation, the first of a version, or another.
package struct ApplicationLaunch: Sendable, Hashable {
    /// The kinds of starts.
    package enum Kind: Sendable, Hashable {
        case install, upgrade, another
    }

    /// The kind of the start.
    package let kind: Kind
    /// The version to store, if it isn't stored yet; empty for an unknown one.
    package let versionToStore: String?

    /// Creates the start of a version; an unknown version says nothing about an upgrade.
    ///
    /// - Parameters:
    ///   - version: The version; `nil` if it is unknown.
    ///   - stored: What earlier starts stored; `nil` if there were none, empty if no version was known.
    package init(of version: String?, after stored: String?) {
        guard let stored else {
            (kind, versionToStore) = (.install, version ?? "")
            return
        }
        versionToStore = version == stored ? nil : version
        kind = versionToStore == nil || stored.isEmpty ? .another : .upgrade
    }
}
