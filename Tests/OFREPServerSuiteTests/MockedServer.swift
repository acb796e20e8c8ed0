import AdapterKit
import Experimentation
import Foundation
import MockVendors
import OFREPServerSuite

/// Runs the suite against the mock server.
enum MockedServer {
    /// A flag of each kind.
    static let flags = """
        {"flags":{
          "switch":{"value":true},"color":{"value":"green"},"count":{"value":7},
          "price":{"value":10,"float":true},"fraction":{"value":0.25,"float":true},"object":{"value":{"a":[1,2]}},
          "a/b":{"value":"slash"},"a b":{"value":"space"},"é😀":{"value":"letters"},
          "closed":{"value":true,"disabled":true},"broken":{"value":1,"broken":true},
          "plan":{"value":"small","rules":[
            {"when":[{"attribute":"plan","comparison":"equals","value":"pro"}],"value":"large"}]},
          "split":{"value":"c","split":{"salt":"s","shares":[
            {"variant":"a","weight":50,"value":"a"},{"variant":"b","weight":50,"value":"b"}]}}}}
        """

    /// Runs cases against the mock with a planted fault.
    static func run(
        _ fault: OFREPServerFault?,
        _ cases: [ServerCase],
        _ change: (OFREPMock, inout OFREPServer) -> Void = { _, _ in }
    ) async throws -> ServerReport {
        let mock = OFREPMock()
        try await mock.load(Data(flags.utf8))
        mock.set(server: fault)
        let listener = MockServer(mock)
        try await listener.start()
        var server = OFREPServer(try Endpoint(listener.url), token: Secret(OFREPMock.token), name: "mock")
        server.declaration.otherAttributes = ["plan": "pro"]
        server.declaration.types = [
            "switch": .boolean, "color": .string, "count": .integer, "price": .float, "fraction": .float,
            "object": .object,
        ]
        server.declaration.exhaustedToken = Secret(OFREPMock.exhaustedToken)
        server.declaration.tooManyBodyBytes = OFREPMock.largestQuestion
        server.declaration.change = ServerDeclaration.Trigger { mock.tellChange() }
        change(mock, &server)
        do {
            let report = try await ServerSuite().run(cases, against: server)
            await listener.stop()
            return report
        } catch {
            await listener.stop()
            throw error
        }
    }
}
