import Testing
import Waiting

/// Lets other tasks go first, so many times.
func yield(times: Int) async {
    for _ in 0..<times { await Task.yield() }
}

/// Lets other tasks go first until something is so.
func yield(until condition: () -> Bool) async {
    await #expect(throws: Never.self) { try await eventually("it") { condition() } }
}
