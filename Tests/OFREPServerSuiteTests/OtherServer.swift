import AdapterKit
import Experimentation
import Foundation
import MockVendors
import OFREPServerSuite

/// The mock server, with answers that a test changes.
struct OtherServer: MockVendor {
    static let name = OFREPMock.name

    let mock: OFREPMock
    /// What a request is taken for.
    var misread: @Sendable (MockRequest) -> MockRequest = { $0 }
    /// What is answered instead.
    var change: @Sendable (MockRequest, MockResponse) -> MockResponse = { $1 }
    /// What is sent instead of a piece of a stream.
    var piece: @Sendable ([UInt8]) -> [UInt8] = { $0 }

    var credentials: [String: String] { mock.credentials }

    func operation(of request: MockRequest) -> String { mock.operation(of: request) }
    func respond(to request: MockRequest) async -> MockResponse {
        change(request, await mock.respond(to: misread(request)))
    }
    func pieces(answering request: MockRequest) async -> AsyncStream<[UInt8]>? {
        guard let pieces = await mock.pieces(answering: request) else { return nil }
        let (changed, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let passing = Task {
            for await bytes in pieces { continuation.yield(piece(bytes)) }
            continuation.finish()
        }
        continuation.onTermination = { _ in passing.cancel() }
        return changed
    }
    func reset() async { await mock.reset() }
    func control(_ request: MockRequest) async -> MockResponse? { await mock.control(request) }
    func load(_ world: Data) async throws(MockWorldError) { try await mock.load(world) }
    func endpoints(at base: String) -> [String: String] { mock.endpoints(at: base) }

    /// Runs the cases that a pattern selects.
    func run(_ pattern: String, _ declare: (inout OFREPServer) -> Void = { _ in }) async throws -> ServerReport {
        try await mock.load(Data(MockedServer.flags.utf8))
        let listener = MockServer(self)
        try await listener.start()
        var server = OFREPServer(try Endpoint(listener.url), token: Secret(OFREPMock.token), name: "other")
        server.declaration.change = ServerDeclaration.Trigger { [mock] in mock.tellChange() }
        declare(&server)
        let report = try await ServerSuite().run(ServerCase.all.filter { $0.matches(pattern) }, against: server)
        await listener.stop()
        return report
    }
}

extension MockResponse {
    /// Changes the members of a body that is an object.
    mutating func edit(_ change: (inout [String: FlagValue]) -> Void) {
        guard case .object(var members)? = try? JSON.parse(body) else { return }
        change(&members)
        body = (try? JSON.encode(.object(members))) ?? body
    }
}
