import Experimentation
import Synchronization

/// The kill switch of one vendor, kept across restarts.
final class PartSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let board: SwitchBoard
    private let state: any StateStore
    private let log: any LogSink
    private let turn = AsyncSemaphore(limit: 1)
    private static let key = "composed/kill-switch"

    /// Creates a switch in the state of the earlier run.
    ///
    /// - Parameters:
    ///   - context: The vendor's own context.
    ///   - board: Where the switches of all vendors are counted.
    init(in context: ProviderContext, _ board: SwitchBoard) async {
        self.board = board
        state = context.state
        log = context.environment.log
        if (try? await state.value(for: Self.key)) != nil {
            isThrown.store(true, ordering: .relaxed)
            board.note(true)
        }
    }

    /// Whether the vendor is disabled.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// Sets the switch; once this returns, the next run begins with it.
    func set(_ isOn: Bool) async {
        guard isThrown.exchange(isOn, ordering: .relaxed) != isOn else { return }
        board.note(isOn)
        await turn.run { [self] in
            do throws(ExperimentationError) {
                // Writes the current value, so that after concurrent changes the last one is stored.
                try await state.setValue(self.isOn ? [1] : nil, for: Self.key)
            } catch {
                log.log(.warning, "composition.switch", "A kill switch can't be stored: \(error)")
            }
        }
    }
}

/// Counts the switches of a composition's vendors that are on: reading looks here, and at each only if any is.
final class SwitchBoard: Sendable {
    private let count = Atomic<Int>(0)

    /// Whether any vendor has switched itself off.
    @inline(__always)
    var isAnyOn: Bool { count.load(ordering: .relaxed) != 0 }

    /// Counts a switch that was turned.
    func note(_ isOn: Bool) { count.add(isOn ? 1 : -1, ordering: .relaxed) }
}
