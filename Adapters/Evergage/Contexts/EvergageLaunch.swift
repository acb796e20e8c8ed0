/// How a start counts: as the first one of an installation, of a version, or as another: pure.
struct EvergageLaunch: Sendable, Hashable {
    /// The names of its actions: at most one of install and upgrade, then launch.
    var actions: [String]
    /// The version to store, if it isn't stored yet.
    var versionToStore: String?

    /// Creates the launch of a version; an unknown one tells nothing of an upgrade.
    ///
    /// - Parameters:
    ///   - version: The version; `nil` if it is unknown.
    ///   - stored: What earlier launches stored; `nil` if there were none, empty if no version was known.
    init(of version: String?, after stored: String?) {
        guard let stored else {
            (actions, versionToStore) = (["App Install", "App Launch"], version ?? "")
            return
        }
        versionToStore = version == stored ? nil : version
        actions = versionToStore == nil || stored.isEmpty ? ["App Launch"] : ["App Upgrade", "App Launch"]
    }
}

/// What a process has told of itself, whatever is reset and started in it.
@MainActor
final class EvergageProcess {
    /// This process.
    static let current = EvergageProcess()

    /// The accounts in which its launch was tracked.
    var launches: Set<String> = []
}
