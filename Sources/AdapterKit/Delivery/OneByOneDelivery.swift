import Experimentation
import Synchronization

/// Sends the events of a batch one by one, for a vendor that takes one event per request, as fast as a rate limit allows.
package final class OneByOneDelivery: Sendable {
    private let pace: BatchPolicy.Pace?
    private let time: any TimeSource
    /// When the latest requests were sent, oldest first.
    private let sent = Mutex<[ContinuousClock.Instant]>([])

    /// Creates a delivery with a rate limit over all of its batches; `nil` for none.
    package init(pace: BatchPolicy.Pace?, by time: any TimeSource) {
        self.pace = pace
        self.time = time
    }

    /// Sends the events in their order, up to the first one that isn't settled: later ones must not overtake it.
    ///
    /// - Parameters:
    ///   - batch: The events, oldest first.
    ///   - send: Sends one event and reports what became of it.
    /// - Returns: What became of each event, in the order of the batch.
    package func deliver(
        _ batch: [Envelope],
        _ send: (Envelope) async -> DeliveryReport
    ) async -> DeliveryReport {
        var report = DeliveryReport(noAnswerTo: batch.count)
        for (place, envelope) in batch.enumerated() {
            do {
                try await waitForTurn()
            } catch {
                report[place] = .outage(because: .pace)
                break
            }
            let part = await send(envelope)
            report.add(part, at: [place])
            switch part[0] {
            case .delivered, .rejected: continue
            default: return report
            }
        }
        return report
    }

    /// Waits until one more request is within the limit.
    private func waitForTurn() async throws {
        guard let pace else { return }
        while true {
            let now = time.instant
            let wait = sent.withLock { sent -> ContinuousClock.Instant? in
                sent.removeAll { $0.duration(to: now) >= pace.interval }
                guard sent.count >= pace.requests, let first = sent.first else {
                    sent.append(now)
                    return nil
                }
                return first.advanced(by: pace.interval)
            }
            guard let wait else { return }
            try await time.sleep(until: wait)
        }
    }
}
