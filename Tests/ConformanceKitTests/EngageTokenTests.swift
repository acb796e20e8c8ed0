import AdapterKit
import ConformanceKit
import ConformanceSubjects
import Experimentation
import HTTPTypes
import Synchronization
import Testing

@Suite("Engage's access tokens are secrets")
struct EngageTokenTests {
    private let ear = ListeningTransport()

    private func result(of name: String, _ subject: any ConformanceSubject) async throws -> CaseResult {
        let conformanceCase = try #require(ConformanceCase.all.first { $0.name == name })
        return await ConformanceRunner().run(conformanceCase, against: subject)
    }

    @Test("no exchange shows a token")
    func redacted() async throws {
        let result = try await result(of: "delivery/one-event", EngageSubject(transport: ear))
        #expect(result.outcome == .passed)
        let tokens = ear.tokens
        #expect(!tokens.isEmpty)
        for exchange in result.story.exchanges {
            let text = exchange.request + (exchange.response ?? "")
            #expect(tokens.allSatisfy { !text.contains($0) })
        }
    }

    @Test("an adapter that logs a token is caught")
    func logged() async throws {
        let subject = LoggingSubject(inner: EngageSubject(transport: ear), ear: ear)
        let result = try await result(of: "privacy/no-secrets-in-failures-of-delivery", subject)
        #expect(result.outcome.failures.contains { $0.message.contains("contains a secret") })
    }
}

/// Remembers the tokens in requests.
private final class ListeningTransport: HTTPTransport {
    private let inner: any HTTPTransport = DefaultTransport.make()
    private let heard = Mutex(Set<String>())

    var tokens: Set<String> { heard.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        if let words = request.headerFields[.authorization]?.split(separator: " "), words.count == 2 {
            heard.withLock { _ = $0.insert(String(words[1])) }
        }
        return try await inner.send(request, body: body, limits: limits)
    }
}

/// Engage with an adapter that logs its tokens.
private struct LoggingSubject: ConformanceSubject {
    let inner: EngageSubject
    let ear: ListeningTransport

    var name: String { inner.name }
    var capabilities: Set<Capability> { inner.capabilities }
    var wireFields: Set<Received.Field> { inner.wireFields }

    func open(_ world: World) async throws -> any SubjectStage {
        Stage(inner: try await inner.open(world), ear: ear)
    }

    private struct Stage: ForwardingStage {
        let inner: any SubjectStage
        let ear: ListeningTransport

        func makeProvider() async throws -> any ExperimentationProvider {
            BentProvider(try await inner.makeProvider()) { [ear] roles, context in
                guard let events = roles.events else { return }
                let log = context.environment.log
                roles.events = BentSink(inner: events) { sink, batch in
                    let report = await sink.deliver(batch)
                    for token in ear.tokens { log.log(.debug, "request", "Authorization: Bearer \(token)") }
                    return report
                }
            }
        }
    }
}
