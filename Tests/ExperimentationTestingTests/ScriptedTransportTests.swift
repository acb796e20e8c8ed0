import AdapterKit
import Experimentation
import ExperimentationTesting
import HTTPTypes
import Testing

@Suite("The scripted transport")
struct ScriptedTransportTests {
    private let request = HTTPRequest(method: .post, scheme: "https", authority: "example.com", path: "/a/b?c=d")

    private func send(_ transport: ScriptedTransport, _ body: String = "") async -> Result<
        HTTPReply, ExperimentationError
    > {
        do throws(ExperimentationError) {
            return .success(try await transport.send(request, body: Array(body.utf8), limits: HTTPLimits()))
        } catch {
            return .failure(error)
        }
    }

    @Test("answers in order and records the requests")
    func answers() async throws {
        let transport = ScriptedTransport([
            .json(#"{"a":1}"#, status: 201), .failure(ExperimentationError(.timeout, "late")),
        ])
        let first = try await send(transport, "x").get()
        #expect(first.status == 201)
        #expect(first.text == #"{"a":1}"#)
        #expect(first.response.headerFields[.contentType] == "application/json")
        #expect(await send(transport) == .failure(ExperimentationError(.timeout, "late")))
        #expect(await send(transport) == .failure(ExperimentationError(.transport, "the script has no answer left")))
        transport.add(.status(204))
        #expect(transport.answersLeft == 1)
        #expect(try await send(transport).get().status == 204)
        #expect(transport.requests.count == 4)
        #expect(transport.requests[0] == .init(request: request, body: Array("x".utf8)))
        #expect(transport.requests[0].method == "POST")
        #expect(transport.requests[0].path == "/a/b")
        #expect(transport.requests[0].query == "c=d")
        #expect(transport.requests[0].text == "x")
    }

    @Test("computes an answer from the request")
    func responds() async throws {
        let transport = ScriptedTransport { .body($0.text.uppercased(), type: "text/plain") }
        #expect(try await send(transport, "abc").get().text == "ABC")
    }

    @Test("never answers until the task is cancelled")
    func silence() async {
        let transport = ScriptedTransport([.silence])
        let task = Task { await send(transport) }
        await transport.waitForRequests(1)
        task.cancel()
        #expect(await task.value == .failure(ExperimentationError(.cancelled, "the task was cancelled")))
    }

    @Test("enforces the same rules for requests as the engines")
    func validates() async {
        let transport = ScriptedTransport([.status(200)])
        var unsound = request
        unsound.path = "/a/../b"
        let error = await #expect(throws: ExperimentationError.self) {
            try await transport.send(unsound, body: [], limits: HTTPLimits())
        }
        #expect(error?.code == .invalidArgument)
        #expect(transport.requests.isEmpty)
    }
}
