import AdapterKit
import Experimentation

extension Evergage {
    private static let versionKey = "evergage.applicationVersion"

    /// Captures the launch in its current state: its user, and the data for the next event.
    ///
    /// After a failed start there is one already, and a process has only one.
    func captureLaunch(in account: String) {
        guard sendsLifecycleEvents, isListening, !process.launches.contains(account),
            !waiting.contains(where: \.isLaunch)
        else { return }
        var launch = captured(.action(EvergageAction(members: [:])))
        launch.isLaunch = true
        waiting.append(launch)
    }

    func loadLaunch() async throws(ExperimentationError) -> ApplicationLaunch {
        ApplicationLaunch(of: applicationVersion, after: try await store.state.text(for: Self.versionKey))
    }

    /// Makes the waiting launch the process's launch, or drops it if another instance was first.
    ///
    /// - Parameters:
    ///   - names: The names of its actions; the first one carries its attributes.
    ///   - account: The account.
    func claimLaunch(as names: [String], in account: String) {
        guard let place = waiting.firstIndex(where: \.isLaunch) else { return }
        guard process.launches.insert(account).inserted else { return takeOut(place) }
        unstoredLaunch = account
        var call = waiting.remove(at: place)
        call.isLaunch = false
        for (index, name) in names.enumerated() {
            call.content = .action(EvergageAction(members: ["action": .string(name)]))
            waiting.insert(call, at: place + index)
            call.attributes = nil
        }
    }

    /// Discards the launch that the store may not have.
    ///
    /// Its events are lost with the client or removed at a denial, and the next start tracks it anew.
    func discardUnstoredLaunch() {
        if let unstoredLaunch { process.launches.remove(unstoredLaunch) }
        unstoredLaunch = nil
        unstoredVersion = nil
    }

    /// Stores the version once the events of its first launch are stored.
    ///
    /// If the process or the client ends in between, the next launch tracks the install or the upgrade again, because
    /// that event must not be lost.
    func storeLaunch() async {
        guard let client, unstoredLaunch != nil || unstoredVersion != nil else { return }
        let (generation, version) = (generation, unstoredVersion)
        do throws(ExperimentationError) {
            try await client.untilStored()
            guard generation == self.generation else { return }
            unstoredLaunch = nil
            if let version { try await store.state.setText(version, for: Self.versionKey) }
            if generation == self.generation { unstoredVersion = nil }
        } catch {
            drop(.error, "the application's launch or its version isn't stored yet: \(error)")
        }
    }
}
