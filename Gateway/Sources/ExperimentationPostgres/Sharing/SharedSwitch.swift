import Experimentation
import Synchronization

/// The kill switch of a vendor that is asked for each user: what one machine hears from it, all know within a second.
final class SharedSwitch: RemoteSwitch {
    private let board: RulesBoard
    private let isOn = Atomic<Bool>(false)

    init(_ board: RulesBoard) { self.board = board }

    func ask() async -> RemoteSwitchAnswer {
        guard let row = try? await board.look() else { return RemoteSwitchAnswer(isOff: nil, wait: .seconds(1)) }
        isOn.store(row.isDisabled, ordering: .relaxed)
        return RemoteSwitchAnswer(isOff: row.isDisabled, wait: .seconds(1))
    }

    /// Takes what the vendor said to this machine.
    func hear(isOn isNowOn: Bool) async {
        guard isOn.exchange(isNowOn, ordering: .relaxed) != isNowOn else { return }
        _ = try? await board.setDisabled(isNowOn)
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
