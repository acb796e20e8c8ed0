import Experimentation
import ExperimentationTelemetry
import ExperimentationTesting
import Logging
import Synchronization
import Testing

/// Keeps what a logger is given.
private final class Kept: Sendable {
    struct Line: Equatable {
        var level: Logger.Level
        var message: String
        var metadata: [String: String]
        var source: String
    }

    private let lines = Mutex<[Line]>([])
    var all: [Line] { lines.withLock { $0 } }

    func logger(_ level: Logger.Level) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(kept: self) }
        logger.logLevel = level
        return logger
    }

    struct Handler: LogHandler {
        let kept: Kept
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
            let line = Line(
                level: event.level,
                message: event.message.description,
                metadata: metadata,
                source: event.source
            )
            kept.lines.withLock { $0.append(line) }
        }
    }
}

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
        "what the logger's level leaves out isn't made",
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
