import Synchronization
import Testing
import Waiting

@testable import Experimentation

@Suite("A shared operation", .timeLimit(.minutes(10)))
struct SingleFlightTests {
    @Test("a cancelled caller stops waiting, and the operation goes on for the others")
    func cancelled() async throws {
        let flights = SingleFlight<String, Int>()
        let gate = AsyncGate()
        let begun = Atomic(0)
        let call = { @Sendable () async throws(ExperimentationError) -> Int in
            try await flights("rules") { () async throws(ExperimentationError) in
                begun.add(1, ordering: .relaxed)
                await gate.wait()
                return 7
            }
        }
        let leaving = Task { try await call() }
        try await eventually("the first caller waits") { flights.callers == 1 }
        let staying = Task { try await call() }
        try await eventually("another joins") { flights.callers == 2 }
        leaving.cancel()
        await #expect(throws: ExperimentationError(.cancelled, "The task was cancelled.")) { try await leaving.value }
        #expect(flights.callers == 1)
        gate.open()
        #expect(try await staying.value == 7)
        #expect(begun.load(ordering: .relaxed) == 1)
        #expect(flights.callers == 0)
    }

    @Test("a failure goes to those who wait, and the next caller tries again")
    func failed() async throws {
        let flights = SingleFlight<String, Int>()
        let error = ExperimentationError(.transport, "gone")
        await #expect(throws: error) {
            try await flights("rules") { () async throws(ExperimentationError) in throw error }
        }
        #expect(try await flights("rules") { () async throws(ExperimentationError) in 3 } == 3)
    }
}
