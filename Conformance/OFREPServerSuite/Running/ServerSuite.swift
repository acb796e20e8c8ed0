import AdapterKit
import Experimentation

/// Runs cases against a server, one after another.
public struct ServerSuite: Sendable {
    /// The time limit of a connection.
    public var time: Duration

    /// Creates a suite.
    ///
    /// - Parameter time: The time limit of a connection.
    public init(time: Duration = .seconds(10)) { self.time = time }

    /// Runs cases against a server.
    ///
    /// - Parameters:
    ///   - cases: The cases.
    ///   - server: The server.
    ///   - progress: Receives each result as soon as it is available.
    /// - Returns: The results, in the order of the cases.
    /// - Throws: `ErrorCode.transport` if no server answers at the address.
    public func run(
        _ cases: [ServerCase] = ServerCase.all,
        against server: OFREPServer,
        progress: @Sendable (ServerReport.Result) -> Void = { _ in }
    ) async throws(ExperimentationError) -> ServerReport {
        let transport = DefaultTransport.make()
        let survey: Survey
        do { survey = try await Survey.of(server, time: time, transport: transport) } catch {
            throw ExperimentationError(.transport, "\(server.name): \(error)")
        }
        var results: [ServerReport.Result] = []
        for serverCase in cases {
            let start = ContinuousClock.now
            let (outcome, exchanges) = await outcome(of: serverCase, server, survey, transport)
            let result = ServerReport.Result(
                name: serverCase.name,
                summary: serverCase.summary,
                outcome: outcome,
                duration: start.duration(to: .now),
                exchanges: exchanges
            )
            results.append(result)
            progress(result)
        }
        return ServerReport(server: server.name, results: results)
    }

    private func outcome(
        of serverCase: ServerCase,
        _ server: OFREPServer,
        _ survey: Survey,
        _ transport: any HTTPTransport
    ) async -> (ServerReport.Outcome, [String]) {
        if let early = judge(serverCase, server, survey) { return (early, []) }
        let probe = ServerProbe(server, survey: survey, time: time, transport: transport)
        do {
            try await serverCase.run(probe)
        } catch let skipped as ServerProbe.Skipped {
            if probe.failures.isEmpty { return (.skipped(skipped.reason), []) }
        } catch let malformed as ReplyReader.Malformed {
            probe.fail(malformed)
        } catch {
            probe.fail("\(error)")
        }
        if probe.isIdle { probe.fail("the case looked at nothing") }
        return probe.failures.isEmpty ? (.passed, []) : (.failed(probe.failures), probe.exchanges)
    }

    /// The outcome of a case that is known without running it; `nil` otherwise.
    private func judge(_ serverCase: ServerCase, _ server: OFREPServer, _ survey: Survey) -> ServerReport.Outcome? {
        if serverCase.writesBytes, !server.takesBytes {
            return .skipped("over TLS no bytes of one's own can be written")
        }
        for feature in serverCase.features.sorted(by: { $0.rawValue < $1.rawValue }) {
            if let declared = server.declaration.features {
                guard declared.contains(feature) else { return .skipped("\(feature.rawValue): not declared") }
                if !survey.features.contains(feature) {
                    return .failed(["\(feature.rawValue): declared, but not there"])
                }
            } else if !survey.features.contains(feature) {
                return .skipped("\(feature.rawValue): the server shows none")
            }
        }
        return nil
    }
}
