import Experimentation

extension Probe {
    /// Expects work to end by its deadline, allowing for the load of the machine.
    ///
    /// A plain timer of the same length runs alongside: the work may be late by as much as the timer, plus a second.
    /// Work that ignores its deadline takes as long as the vendor hangs, which is longer than either.
    ///
    /// - Parameters:
    ///   - deadline: The time that the work may take.
    ///   - name: The work's name, for the failure.
    ///   - body: The work.
    /// - Returns: The work's result.
    func timely<Value: Sendable>(
        within deadline: Duration,
        _ name: String,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let clock = ContinuousClock()
        let start = clock.now
        let timer = Task {
            try? await clock.sleep(until: start.advanced(by: deadline))
            return start.duration(to: clock.now)
        }
        let value = try await body()
        let took = start.duration(to: clock.now)
        let timers = await timer.value
        expect(took < timers * 4 + .seconds(1), "\(name) took \(took), and a timer of the same length \(timers)")
        return value
    }
}
