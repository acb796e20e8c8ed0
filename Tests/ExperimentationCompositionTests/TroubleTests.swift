import ConformanceKit
import ConformanceSubjects
import Experimentation
import ExperimentationComposition
import ExperimentationTesting
import Testing
import Waiting

/// A sink that accepts a batch and never answers.
private struct Hanging: EventSink {
    let batching = BatchPolicy(count: 1)
    func check(_ event: TrackingEvent) throws(ExperimentationError) {}
    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        await AsyncGate().wait()
        return DeliveryReport(noAnswerTo: batch.count)
    }
}

@Suite("Failures of one of several vendors")
struct TroubleTests {
    private let one = Vendors.taking("one")
    private let two = Vendors.taking("two")

    @Test("a vendor that hangs delays no other")
    func hanging() async throws {
        let stuck = one.changing { $0.events = Hanging() }
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [stuck, two]))
        let session = client.session(for: User(id: "ada"))
        for name in ["a", "b"] { try await session.track(.custom(name)) }
        let flushing = Task { _ = try? await client.flush() }
        try await eventually("both events at the other") { two.types.count == 2 }
        flushing.cancel()
        await client.shutdown(within: .zero)
    }

    @Test("a vendor that rejects everything keeps its events, and the other one gets its own")
    func refusing() async throws {
        one.inner.setVerdict { _ in .stop(ExperimentationError(.unauthorized, "no")) }
        let client = try await ExperimentationClient(provider: ComposedProvider(of: [one, two]))
        try await client.session(for: User(id: "ada")).track(.custom("a"))
        try await client.flush(retrying: false)
        #expect(
            try await client.ledgers() == [
                one.destination: Ledger(accepted: 1, pending: 1), two.destination: Ledger(accepted: 1, delivered: 1),
            ]
        )
    }

    @Test("an accepted event reaches both vendors although the process died in between, with one id")
    func death() async throws {
        let store = ClientStore.inMemory()
        let provider = try ComposedProvider(of: [one, two])
        one.inner.setVerdict { _ in .outage() }
        let first = try await ExperimentationClient(provider: provider, store: store)
        try await first.session(for: User(id: "ada")).track(.custom("a"))
        try await first.flush(retrying: false)
        #expect(one.types == [] && two.types == ["custom"])
        one.inner.setVerdict { _ in .delivered }
        let second = try await ExperimentationClient(provider: provider, store: store)
        try await eventually("the event at the first") { one.types == ["custom"] }
        try await second.flush(retrying: false)
        #expect(two.types == ["custom"])
        #expect(one.inner.record.delivered.map(\.id) == two.inner.record.delivered.map(\.id))
    }

    @Test("one vendor's exposure arrives at the other as an event, once, over their own wires")
    func exposure() async throws {
        let stage = try await ComposedSubject.sigmaEvergage.open(.shop)
        let client = try await ExperimentationClient(provider: stage.makeProvider())
        let session = client.session(for: User(id: "ada", anonymousID: "guest", consent: .granted))
        try await session.refresh()
        let assignment = try #require(session.assignments.first { !$0.isHoldout })
        for _ in 0..<3 { try session.expose(assignment.experiment.id) }
        try await client.flush()
        let received = try await stage.received()
        #expect(received.map(\.type) == ["exposure"])
        #expect(received.first?.experiment == assignment.experiment.id)
        #expect(received.first?.variation == assignment.variation.id)
        #expect(assignment.metadata["provider"] == "sigma")
        await client.shutdown()
        await stage.close()
    }
}
