import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization

/// A transport whose answers a test gives later, in any order.
final class LateTransport: HTTPTransport {
    private let waiting = Mutex<[AsyncStream<HTTPReply>.Continuation]>([])

    /// The number of questions so far.
    var count: Int { waiting.withLock { $0.count } }

    /// Answers a question by its index.
    func answer(_ index: Int, _ answer: ScriptedTransport.Answer) {
        guard case .reply(let reply) = answer else { return }
        _ = waiting.withLock { $0[index] }.yield(reply)
    }

    /// Answers a question with one flag.
    func answer(_ index: Int, _ value: String) { answer(index, Samples.answer(value)) }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let (answers, continuation) = AsyncStream.makeStream(of: HTTPReply.self)
        waiting.withLock { $0.append(continuation) }
        for await reply in answers { return reply }
        throw ExperimentationError(.cancelled, "the task was cancelled")
    }
}
