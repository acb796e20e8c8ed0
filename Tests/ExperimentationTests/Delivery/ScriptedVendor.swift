import Experimentation
import ExperimentationTesting
import Foundation
import Synchronization
import Testing

/// A vendor that accepts events as scripted and records them.
final class ScriptedVendor: ExperimentationProvider, EventSink {
    typealias Answer = @Sendable ([Envelope]) async -> DeliveryReport

    struct Record: Sendable {
        /// The batches in the order of their start.
        var batches: [[Envelope]] = []
        /// The received events, including repetitions.
        var received: [Envelope] = []
    }

    let name = "scripted"
    let scope: String
    let batching: BatchPolicy
    let needsConsent: Bool
    private let takes: @Sendable (TrackingEvent) -> Bool
    private let state: Mutex<State>

    private struct State {
        var record = Record()
        var answer: Answer
    }

    init(
        scope: String = "",
        batching: BatchPolicy = BatchPolicy(count: 1_000_000, largest: 100, bytes: .max, interval: .seconds(3_600)),
        needsConsent: Bool = false,
        _ answer: @escaping Answer = { _ in DeliveryReport(.delivered) },
        takes: @escaping @Sendable (TrackingEvent) -> Bool = { _ in true }
    ) {
        self.scope = scope
        self.batching = batching
        self.needsConsent = needsConsent
        self.takes = takes
        state = Mutex(State(answer: answer))
    }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(events: self, needsConsent: needsConsent)
    }
    var capabilities: Set<Capability> { [.tracking] }
    var record: Record { state.withLock { $0.record } }

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

    func check(_ event: TrackingEvent) throws(ExperimentationError) {
        if !takes(event) { throw ExperimentationError(.unsupported, "The vendor has no word for it.") }
    }

    func deliver(_ batch: [Envelope]) async -> DeliveryReport {
        let answer = state.withLock { state in
            state.record.batches.append(batch)
            return state.answer
        }
        let report = await answer(batch)
        state.withLock { state in
            for (envelope, verdict) in zip(batch, report.verdicts(count: batch.count)) where verdict == .delivered {
                state.record.received.append(envelope)
            }
        }
        return report
    }

    /// Creates a client of this vendor.
    func client(
        store: ClientStore = .inMemory(),
        time: any TimeSource = ManualTime(),
        jitter: @escaping @Sendable () -> Double = { 0.5 }
    ) async throws -> ExperimentationClient {
        try await ExperimentationClient(
            provider: self,
            store: store,
            environment: ClientEnvironment(time: time, jitter: jitter)
        )
    }
}

/// A value shared by several tasks.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>
    init(_ value: Value) { state = Mutex(value) }
    var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
    func change(_ body: @Sendable (inout Value) -> Void) { state.withLock { body(&$0) } }
}

/// Generates the same numbers for the same seed; usable by any task.
final class Dice: Sendable {
    private let state: Mutex<UInt64>

    init(_ seed: Int) { state = Mutex(UInt64(bitPattern: Int64(seed))) }

    func roll() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }

    func below(_ bound: Int) -> Int { Int(roll() % UInt64(bound)) }
    func fraction() -> Double { Double(roll() >> 11) / Double(UInt64(1) << 53) }
}

extension ExperimentationClient {
    /// P09: checks the ledgers against each other.
    func expectBalance(_ expected: Ledger? = nil, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let ledger = try await ledger()
        #expect(ledger.isBalanced, "\(ledger)", sourceLocation: sourceLocation)
        if let expected { #expect(ledger == expected, sourceLocation: sourceLocation) }
    }

    /// Delivers until nothing is left or the time is over.
    func drain(_ time: ManualTime, for limit: Duration = .seconds(7_200)) async throws {
        let end = time.instant.advanced(by: limit)
        while try await !flush(retrying: false).isDone, time.instant < end { time.advance(by: .seconds(10)) }
    }
}

extension TrackingEvent {
    /// An event with a number.
    static func numbered(_ number: Int) -> TrackingEvent { .custom("numbered", value: Double(number)) }

    /// The event's number.
    var number: Int? {
        if case .custom("numbered", let value?) = kind { Int(exactly: value) } else { nil }
    }
}
