import Experimentation
import Synchronization

/// The kill switch of one vendor, kept across restarts.
final class PartSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let state: any StateStore
    private let log: any LogSink
    private let turn = AsyncSemaphore(limit: 1)
    private static let key = "composed/kill-switch"

    /// Creates a switch in the state of the earlier run.
    ///
    /// - Parameter context: The vendor's own context.
    init(in context: ProviderContext) async {
        state = context.state
        log = context.environment.log
        if (try? await state.value(for: Self.key)) != nil { isThrown.store(true, ordering: .relaxed) }
    }

    /// Whether the vendor is disabled.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// Sets the switch; once this returns, the next run begins with it.
    func set(_ isOn: Bool) async {
        guard isThrown.exchange(isOn, ordering: .relaxed) != isOn else { return }
        guard (try? await turn.enter()) != nil else { return }
        defer { turn.leave() }
        do throws(ExperimentationError) {
            // Writes the current value, so that after concurrent changes the last one is stored.
            try await state.setValue(self.isOn ? [1] : nil, for: Self.key)
        } catch {
            log.log(.warning, "composition.switch", "A kill switch can't be stored: \(error)")
        }
    }
}
