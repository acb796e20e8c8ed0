import ConformanceKit
import Experimentation

/// A client on a device with stores of its own, whose traffic with a mock is counted.
final class MeasuredDevice: Sendable {
    let time = SuiteTime()
    private let stage: any SubjectStage
    private let outbox: StepwiseOutbox
    private let store: ClientStore
    private let environment: ClientEnvironment

    init(on stage: any SubjectStage) {
        self.stage = stage
        let kept = ClientStore.inMemory()
        outbox = StepwiseOutbox(kept.outbox)
        store = ClientStore(outbox: outbox, state: kept.state)
        let counter = Counter()
        environment = ClientEnvironment(time: time, makeID: { counter.nextID() }, jitter: { 0.5 })
    }

    func client() async throws -> ExperimentationClient {
        try await ExperimentationClient(provider: stage.makeProvider(), store: store, environment: environment)
    }

    /// Tracks events at different times, and delivers them.
    ///
    /// - Returns: Whether all of them were delivered; also `false` if the vendor doesn't support the event.
    func deliver(_ count: Int, of event: TrackingEvent, in session: UserSession, _ client: ExperimentationClient)
        async throws -> Bool
    {
        outbox.beginFilling()
        defer { outbox.endFilling() }
        for _ in 0..<count {
            do throws(ExperimentationError) { try await session.track(event) } catch {
                if error.code == .unsupported { return false }
                throw error
            }
            time.push(by: .milliseconds(1))
        }
        outbox.endFilling()
        return try await client.flush(within: .seconds(20) + .milliseconds(40) * count, retrying: false).isDone
    }

    /// The traffic of some work, counted once the wire is quiet.
    func traffic(of work: () async throws -> Void) async throws -> Traffic {
        let before = try await stage.exchangeCount()
        try await work()
        let exchanges = try await stage.exchanges(from: before)
        let connections = Set(exchanges.map(\.connection)).count
        return exchanges.reduce(into: Traffic(connections: connections)) { traffic, exchange in
            traffic.add(
                Traffic(requests: 1, bytesSent: exchange.bytesIn, bytesReceived: exchange.bytesOut, connections: 0)
            )
        }
    }
}
