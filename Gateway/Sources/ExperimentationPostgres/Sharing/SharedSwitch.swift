import Experimentation
import Synchronization

/// The kill switch of a vendor that is asked for each user: what one machine learns from it, all know within a second.
final class SharedSwitch: RemoteSwitch {
    private struct State {
        var isOn = false
        /// How many changes are being stored.
        var writing = 0
        /// How often the vendor reported a different state than before.
        var changes = 0
    }

    private let board: RulesBoard
    private let state = Mutex(State())

    init(_ board: RulesBoard) { self.board = board }

    func ask() async -> RemoteSwitchAnswer {
        let before = state.withLock { $0.writing == 0 ? $0.changes : nil }
        guard let row = try? await board.look() else { return RemoteSwitchAnswer(isOff: nil, wait: .seconds(1)) }
        let isKnown = state.withLock { state in
            // What the vendor reported to this machine meanwhile is newer than what was read.
            guard state.changes == before else { return false }
            state.isOn = row.isDisabled
            return true
        }
        return RemoteSwitchAnswer(isOff: isKnown ? row.isDisabled : nil, wait: .seconds(1))
    }

    /// Takes the state that the vendor reported to this machine.
    func hear(isOn isNowOn: Bool) async {
        let isNew = state.withLock { state in
            guard state.isOn != isNowOn else { return false }
            state.isOn = isNowOn
            state.changes += 1
            state.writing += 1
            return true
        }
        guard isNew else { return }
        _ = try? await board.setDisabled(isNowOn)
        state.withLock { $0.writing -= 1 }
    }
}

/// Shares the kill switch found in a decision with the other machines.
struct SwitchingSource: DecisionSource {
    let source: any DecisionSource
    let shared: SharedSwitch

    var freshness: Freshness { source.freshness }

    func decisions(for context: EvaluationContext) async throws(ExperimentationError) -> DecisionAnswer {
        let answer = try await source.decisions(for: context)
        if case .disabled = answer { await shared.hear(isOn: true) } else { await shared.hear(isOn: false) }
        return answer
    }
}

/// Shares the kill switch found in a delivery with the other machines.
struct SwitchingSink: EventSink {
    let sink: any EventSink
    let board: RulesBoard

    var batching: BatchPolicy { sink.batching }

    func check(_ event: TrackingEvent) throws(ExperimentationError) { try sink.check(event) }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let report = await sink.deliver(batch)
        if report.isDisabled, (try? await board.setDisabled(true)) == true { await board.notify() }
        return report
    }
}
