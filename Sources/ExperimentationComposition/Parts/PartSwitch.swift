import Experimentation
import Synchronization

/// The kill switch of one vendor, counted among those of all.
final class PartSwitch: Sendable {
    private let kept: KeptSwitch
    private let board: SwitchBoard
    private let log: any LogSink
    private let time: any TimeSource
    /// When the vendor last said that it is off, or was tried again.
    private let tried: Mutex<ContinuousClock.Instant>

    /// Creates a switch in the state of the earlier run.
    ///
    /// - Parameters:
    ///   - context: The vendor's own context.
    ///   - board: Where the switches of all vendors are counted.
    init(in context: ProviderContext, _ board: SwitchBoard) async {
        self.board = board
        log = context.environment.log
        time = context.environment.time
        tried = Mutex(time.instant)
        kept = await KeptSwitch(
            in: context.state,
            as: "composed/kill-switch",
            time: context.environment.time,
            patience: context.patience
        )
        if kept.isOn { board.note(true) }
    }

    /// Whether the vendor is disabled.
    var isOn: Bool { kept.isOn }

    /// How often the vendor has said in this run that it is off.
    var throwings: Int { kept.throwings }

    /// Whether a vendor that only a delivery can ask is due to be tried again; if so, counts it as tried.
    func isDue(every interval: Duration) -> Bool {
        let now = time.instant
        return tried.withLock { tried in
            if tried.duration(to: now) < interval { return false }
            tried = now
            return true
        }
    }

    /// Sets the switch; once this returns, the next run begins with it, unless the store fails.
    ///
    /// - Parameters:
    ///   - isOn: What the vendor says.
    ///   - count: ``throwings`` when the vendor was asked: a late answer doesn't turn off a switch that was turned on
    ///     since.
    func set(_ isOn: Bool, asOf count: Int? = nil) async {
        if isOn { tried.withLock { $0 = time.instant } }
        let isChange = kept.flip(to: isOn, asOf: count)
        if isChange { board.note(isOn) }
        do throws(ExperimentationError) { try await kept.store() } catch {
            // Storing is tried again with an answer of the vendor a few seconds later.
            if isChange { log.log(.warning, "composition.switch", "A kill switch can't be stored yet: \(error)") }
        }
    }
}

/// Counts the switches of a composition's vendors that are on: a read looks here, and at each switch only if one is on.
final class SwitchBoard: Sendable {
    private let count = Atomic<Int>(0)

    /// Whether any vendor has switched itself off.
    @inline(__always)
    var isAnyOn: Bool { count.load(ordering: .relaxed) != 0 }

    /// Counts a switch that was turned.
    func note(_ isOn: Bool) { count.add(isOn ? 1 : -1, ordering: .relaxed) }
}
