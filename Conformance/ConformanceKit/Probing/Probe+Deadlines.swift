import Experimentation

extension Probe {
    /// Expects work to end by its deadline, allowing for the load of the machine.
    ///
    /// Timers of a tenth of a second run one after another while the work runs, and the number that ended measures how
    /// long it took: it may take four times its deadline, plus a second. A burst of load delays both the timers and the
    /// work, whenever it comes. Work that ignores its deadline takes as long as the vendor hangs, which is longer.
    ///
    /// - Parameters:
    ///   - deadline: The time that the work may take.
    ///   - name: The work's name, for the failure.
    ///   - clock: The clock of the timers.
    ///   - body: The work.
    /// - Returns: The work's result.
    func timely<Value: Sendable>(
        within deadline: Duration,
        _ name: String,
        by clock: some Clock<Duration> = .continuous,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let tenth: Duration = .milliseconds(100)
        let start = ContinuousClock.now
        let timers = Task {
            var ended = 0
            while (try? await clock.sleep(for: tenth)) != nil { ended += 1 }
            return ended
        }
        defer { timers.cancel() }
        let value = try await body()
        let took = start.duration(to: .now)
        timers.cancel()
        let ended = await timers.value
        expect(
            tenth * ended < deadline * 4 + .seconds(1),
            "\(name) took \(took), or \(ended) timers of \(tenth), instead of \(deadline)"
        )
        return value
    }
}
