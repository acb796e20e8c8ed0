import ConformanceKit
import ConformanceSubjects
import Experimentation
import Synchronization
import Testing

/// A vendor that never answers, and notes when a request of it is cancelled.
private final class MuteSink: EventSink {
    let batching = BatchPolicy()
    let isAsked = AsyncGate()
    let isCancelled = Mutex(false)

    func check(_ event: TrackingEvent) throws(ExperimentationError) {}

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        isAsked.open()
        await withTaskCancellationHandler {
            for await _ in AsyncStream<Never>.makeStream().stream {}
        } onCancel: {
            isCancelled.withLock { $0 = true }
        }
        return DeliveryReport(.outage())
    }
}

@Suite("A process that a case kills")
struct KilledProcessTests {
    @Test("its requests in progress are cancelled before the next process starts")
    func cancelled() async throws {
        let sinks = Mutex<[MuteSink]>([])
        let bend = BentSubject.Bend(provider: { provider, _ in
            BentProvider(provider) { roles, _ in
                let sink = MuteSink()
                sinks.withLock { $0.append(sink) }
                roles.events = sink
            }
        })
        let subject = BentSubject(bend: bend)
        let probe = Probe(subject: subject, stage: try await subject.open(.shop), world: .shop)
        let client = try await probe.client()
        try await probe.session(for: User(id: "ada", consent: .granted)).track(.custom("seen"))
        let flush = Task { try await client.flush(within: .seconds(600)) }
        let first = try #require(sinks.withLock { $0.first })
        await first.isAsked.wait()
        try await probe.kill()
        #expect(first.isCancelled.withLock { $0 })
        flush.cancel()
        try await probe.client().shutdown(within: .zero)
    }
}
