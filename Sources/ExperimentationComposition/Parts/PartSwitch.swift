import Experimentation
import Synchronization

/// Whether one of the vendors has switched itself off: kept over restarts, apart from the others.
final class PartSwitch: Sendable {
    private let isThrown = Atomic<Bool>(false)
    private let board: SwitchBoard
    private let state: any StateStore
    private let log: any LogSink
    private let turn = AsyncSemaphore(limit: 1)
    private static let key = "composed/kill-switch"

    /// Creates a switch that is on if an earlier run left it so.
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

    /// Whether the vendor has switched itself off.
    var isOn: Bool { isThrown.load(ordering: .relaxed) }

    /// Notes what the vendor says; when this returns, it holds in the next run as well.
    func set(_ isOn: Bool) async {
        guard isThrown.exchange(isOn, ordering: .relaxed) != isOn else { return }
        board.note(isOn)
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

/// Counts the switches of a composition's vendors that are on: reading looks here, and at each only if any is.
final class SwitchBoard: Sendable {
    private let count = Atomic<Int>(0)

    /// Whether any vendor has switched itself off.
    @inline(__always)
    var isAnyOn: Bool { count.load(ordering: .relaxed) != 0 }

    /// Counts a switch that was turned.
    func note(_ isOn: Bool) { count.add(isOn ? 1 : -1, ordering: .relaxed) }
}
