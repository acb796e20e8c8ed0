import Experimentation
import Synchronization
import Testing
import Waiting

@testable import EngageAdapter

@Suite("The queue of calls", .timeLimit(.minutes(10)))
struct CallLineTests {
    /// Queues a call behind the waiting ones.
    private func call(_ line: EngageCallLine) async throws -> Task<Void, any Error> {
        let before = line.waiting
        let call = Task { try await line.enter() }
        try await eventually("a call in line") { line.waiting != before }
        return call
    }

    @Test("calls pass one at a time until it opens, then the backlog one at a time, then up to the limit")
    func backlog() async throws {
        let line = EngageCallLine(limit: 3)
        try await line.enter()
        var early: [Task<Void, any Error>] = []
        for _ in 0..<3 { early.append(try await call(line)) }
        line.open()
        var late: [Task<Void, any Error>] = []
        for _ in 0..<3 { late.append(try await call(line)) }
        #expect(line.waiting == 6)
        for (number, call) in early.dropLast().enumerated() {
            line.leave()
            try await call.value
            #expect(line.waiting == 5 - number)
        }
        // With the last one of the backlog, calls up to the limit pass.
        line.leave()
        try await early[2].value
        try await late[0].value
        try await late[1].value
        #expect(line.waiting == 1)
        line.leave()
        try await late[2].value
        #expect(line.waiting == 0)
    }

    @Test("calls pass up to the limit if none waited for it to open")
    func opens() async throws {
        let line = EngageCallLine(limit: 2)
        try await line.enter()
        line.open()
        line.open()
        try await line.enter()
        let third = try await call(line)
        line.leave()
        try await third.value
    }

    @Test("a cancelled call of the backlog blocks no other, and throws")
    func cancelled() async throws {
        let line = EngageCallLine(limit: 2)
        try await line.enter()
        let early = try await call(line)
        line.open()
        let late = try await call(line)
        early.cancel()
        let error = await #expect(throws: ExperimentationError.self) { try await early.value }
        #expect(error == ExperimentationError(.cancelled, "cancelled while waiting for its turn"))
        try await late.value
    }

    @Test("a full queue rejects further calls")
    func full() async throws {
        let line = EngageCallLine(limit: 1, longest: 2)
        try await line.enter()
        let calls = [try await call(line), try await call(line)]
        let error = await #expect(throws: ExperimentationError.self) { try await line.enter() }
        #expect(error == ExperimentationError(.tooLarge, "too many calls wait already"))
        for call in calls {
            line.leave()
            try await call.value
        }
    }
}
