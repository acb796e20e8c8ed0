import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Synchronization

/// A transport whose answers a test gives later, in any order.
final class LateTransport: HTTPTransport {
    private let waiting = Mutex<[AsyncStream<String>.Continuation]>([])

    /// The number of questions so far.
    var count: Int { waiting.withLock { $0.count } }

    /// Answers a question by its index.
    func answer(_ index: Int, _ value: String) { _ = waiting.withLock { $0[index] }.yield(value) }

    func send(
        _ request: HTTPRequest,
        body: [UInt8],
        limits: HTTPLimits
    ) async throws(ExperimentationError) -> HTTPReply {
        let (answers, continuation) = AsyncStream.makeStream(of: String.self)
        waiting.withLock { $0.append(continuation) }
        for await value in answers {
            if case .reply(let reply) = Samples.answer(value) { return reply }
        }
        throw ExperimentationError(.cancelled, "the task was cancelled")
    }
}
