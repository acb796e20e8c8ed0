import Experimentation
import Foundation
import Synchronization

/// A vendor whose answers each wait until a test gives them.
final class HeldSink: EventSink {
    /// A request in progress.
    struct Request: Sendable {
        let number: Int
        let batch: [Envelope]
        fileprivate let answer: CheckedContinuation<DeliveryReport, Never>
    }

    private struct State {
        var requests: [Request] = []
        var count = 0
        var isFree = false
        var received: [Envelope] = []
    }

    let batching: BatchPolicy
    /// Whether it ends a request when that is cancelled.
    private let heedsCancellation: Bool
    private let begins: @Sendable ([Envelope]) -> Void
    private let state = Mutex(State())

    init(_ batching: BatchPolicy, heedsCancellation: Bool, begins: @escaping @Sendable ([Envelope]) -> Void) {
        self.batching = batching
        self.heedsCancellation = heedsCancellation
        self.begins = begins
    }

    /// The requests in progress.
    var requests: [Request] { state.withLock { $0.requests } }
    /// The events that it accepted.
    var received: [Envelope] { state.withLock { $0.received } }

    /// Answers a request in progress.
    func answer(_ request: Request, _ report: DeliveryReport) {
        state.withLock { state in
            let verdicts = report.verdicts(count: request.batch.count)
            state.received += zip(request.batch, verdicts).filter { $0.1 == .delivered }.map(\.0)
            state.requests.removeAll { $0.number == request.number }
        }
        request.answer.resume(returning: report)
    }

    /// Accepts everything from now on.
    func free() {
        state.withLock { $0.isFree = true }
        for request in requests { answer(request, DeliveryReport(.delivered)) }
    }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        begins(batch)
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { answer in
                let request = Request(number: number, batch: batch, answer: answer)
                let isFree = state.withLock { state in
                    state.requests.append(request)
                    return state.isFree
                }
                if isFree { self.answer(request, DeliveryReport(.delivered)) }
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: Int) {
        guard heedsCancellation, let request = requests.first(where: { $0.number == number }) else { return }
        answer(request, DeliveryReport(noAnswerTo: request.batch.count))
    }
}
