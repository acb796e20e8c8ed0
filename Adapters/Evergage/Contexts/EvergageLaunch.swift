import AdapterKit

extension ApplicationLaunch.Kind {
    /// The names of the launch's actions: at most one of install and upgrade, then launch.
    var actions: [String] {
        switch self {
        case .install: ["App Install", "App Launch"]
        case .upgrade: ["App Upgrade", "App Launch"]
        case .another: ["App Launch"]
        }
    }
}

/// What a process has reported about itself, whatever is reset and started in it.
@MainActor
final class EvergageProcess {
    static let current = EvergageProcess()

    /// The accounts in which its launch was tracked.
    var launches: Set<String> = []
}
