import AdapterKit
import ConformanceKit
import Experimentation
import HTTPTypes

extension RemoteSubject {
    /// Connects to an adapter in another process.
    ///
    /// - Parameter url: Its endpoint: `https`, or `http` on this machine.
    /// - Returns: The subject, as described by the other process.
    /// - Throws: When the address is unusable, the process doesn't answer, or the answer is malformed.
    public static func connect(to url: String) async throws -> RemoteSubject {
        let endpoint = try Endpoint(url)
        let transport = DefaultTransport.make()
        return try await RemoteSubject { command in
            let request = endpoint.request(.post, path: [], headers: [.contentType: "application/json"])
            let reply = try await transport.send(request, body: command, limits: HTTPLimits(deadline: .seconds(10)))
            guard reply.status == 200 else {
                throw ExperimentationError(.transport, "The subject's endpoint answered \(reply.status).")
            }
            return reply.body
        }
    }
}
