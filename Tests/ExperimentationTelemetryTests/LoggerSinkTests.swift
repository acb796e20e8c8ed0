import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Logging
import Testing

@Suite("Messages to swift-log")
struct LoggerSinkTests {
    private let kept = Kept()

    @Test("a message arrives with its level, its name and its fields")
    func message() {
        LoggerSink(kept.logger(.trace)).log(.warning, "outbox.overflow", "Events were dropped.", fields: ["count": "7"])
        #expect(
            kept.all == [
                .init(
                    level: .warning,
                    message: "Events were dropped.",
                    metadata: ["count": "7", "event": "outbox.overflow"],
                    source: "Experimentation"
                )
            ]
        )
    }

    @Test(
        "messages below the logger's level aren't built",
        arguments: zip(
            Logger.Level.allCases,
            [LogLevel.trace, .debug, .info, .warning, .warning, .error, .off]
        )
    )
    func levels(_ level: Logger.Level, _ least: LogLevel) {
        let sink = LoggerSink(kept.logger(level))
        #expect(sink.level == least)
        let levels = LogLevel.allCases.filter { $0 != .off }
        for each in levels {
            sink.log(each, "e", "m")
            if each < least { #expect(kept.all.allSatisfy { "\($0.level)" != "\(each)" }) }
        }
        #expect(kept.all.map { "\($0.level)" } == levels.filter { $0 >= least }.map { "\($0)" })
    }

    @Test("a client's messages go to the logger, on one line each")
    func client() async throws {
        let provider = InMemoryProvider(flags: [InMemoryFlag("a", true)])
        let client = try await ExperimentationClient(
            provider: provider,
            environment: ClientEnvironment(log: .logger(kept.logger(.trace)))
        )
        provider.setFailure(ExperimentationError(.transport, "gone\naway"))
        await #expect(throws: ExperimentationError.self) { try await client.refresh() }
        await client.shutdown()
        #expect(kept.all.allSatisfy { !$0.message.contains("\n") && $0.metadata["event"] != nil })
    }
}
