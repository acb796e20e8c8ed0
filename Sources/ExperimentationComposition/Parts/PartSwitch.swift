import Experimentation
import Synchronization

/// Whether one of the vendors has switched itself off: kept over restarts, apart from the others.
final class PartSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let state: any StateStore
    private let log: any LogSink
    private let turn = AsyncSemaphore(limit: 1)
    private static let key = "composed/kill-switch"

    /// Creates a switch that is on if an earlier run left it so.
    ///
    /// - Parameter context: The vendor's own context.
    init(in context: ProviderContext) async {
        state = context.state
        log = context.environment.log
        if (try? await state.value(for: Self.key)) != nil { isThrown.store(true, ordering: .relaxed) }
    }

    /// Whether the vendor has switched itself off.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// Notes what the vendor says; when this returns, it holds in the next run as well.
    func set(_ isOn: Bool) async {
        guard isThrown.exchange(isOn, ordering: .relaxed) != isOn else { return }
        guard (try? await turn.enter()) != nil else { return }
        defer { turn.leave() }
        do throws(ExperimentationError) {
            // As it is by now: of two changes at once, the last is written last.
            try await state.setValue(self.isOn ? [1] : nil, for: Self.key)
        } catch {
            log.log(.warning, "composition.switch", "A kill switch can't be written down: \(error)")
        }
    }
}
