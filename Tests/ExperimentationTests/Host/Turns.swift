import Testing
import Waiting

/// Yields a number of times.
func yield(times: Int) async {
    for _ in 0..<times { await Task.yield() }
}

/// Yields until a condition is true.
func yield(until condition: () -> Bool) async {
    await #expect(throws: Never.self) { try await eventually("it") { condition() } }
}
