import Experimentation

extension Probe {
    /// Expects that something ends by its deadline, as far as the machine has time for it.
    ///
    /// Beside it runs a plain timer of the same length: what a busy machine adds to that, it may add to the other as well, and a
    /// second more. Something that ignores its deadline takes as long as the vendor hangs, which is longer than either.
    ///
    /// - Parameters:
    ///   - deadline: When it is to end.
    ///   - name: What it is, for the complaint.
    ///   - body: What is to end.
    /// - Returns: What it gives.
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
