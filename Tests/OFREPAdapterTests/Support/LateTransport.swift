import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization

/// A transport whose answers a test gives later, in any order.
final class LateTransport: HTTPTransport {
    private let waiting = Mutex<[AsyncStream<ScriptedTransport.Answer>.Continuation]>([])

    /// The number of questions so far.
    var count: Int { waiting.withLock { $0.count } }

    /// Answers a question by its index.
    func answer(_ index: Int, _ answer: ScriptedTransport.Answer) {
        _ = waiting.withLock { $0[index] }.yield(answer)
    }

    /// Answers a question with one flag.
    func answer(_ index: Int, _ value: String) { answer(index, Samples.answer(value)) }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let (answers, continuation) = AsyncStream.makeStream(of: ScriptedTransport.Answer.self)
        waiting.withLock { $0.append(continuation) }
        for await answer in answers {
            if case .reply(let reply) = answer { return reply }
        }
        throw ExperimentationError(.cancelled, "the task was cancelled")
    }
}
