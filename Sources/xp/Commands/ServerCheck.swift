import AdapterKit
import ArgumentParser
import ComparisonKit
import Experimentation
import Foundation
import OFREPServerSuite

/// Runs `xp conform --ofrep`: tests any OFREP server over the wire.
struct ServerCheck {
    let address: String
    let token: String?
    let declaration: String?
    let patterns: [String]

    /// The chosen cases.
    func cases() throws -> [ServerCase] {
        guard !patterns.isEmpty else { return ServerCase.all }
        for pattern in patterns where !ServerCase.all.contains(where: { $0.matches(pattern) }) {
            throw Failure(.usage, "there is no case \"\(pattern)\"; xp conform --ofrep URL --list names them")
        }
        return ServerCase.all.filter { candidate in patterns.contains { candidate.matches($0) } }
    }

    /// Lists the chosen cases by name.
    func listing(_ format: ConformCommand.Format) throws -> String {
        let cases = try cases()
        guard format == .json else { return cases.map { "\($0.name)  \($0.summary)\n" }.joined() }
        return JSONLine.pretty([
            "cases": .array(
                cases.map { item in
                    [
                        "name": .string(item.name), "summary": .string(item.summary),
                        "features": .array(item.features.map(\.rawValue).sorted().map { .string($0) }),
                    ]
                }
            )
        ])
    }

    /// Runs the chosen cases.
    func run() async throws -> ServerReport {
        let cases = try cases()
        let endpoint = try endpoint()
        let done = Tally()
        do throws(ExperimentationError) {
            let report = try await ServerSuite().run(cases, against: try server(at: endpoint)) { result in
                Terminal.progress("\(done.next()) of \(cases.count): \(result.name)")
            }
            Terminal.endProgress()
            return report
        } catch {
            throw Failure(error)
        }
    }

    private func endpoint() throws -> Endpoint {
        do throws(ExperimentationError) { return try Endpoint(address) } catch {
            throw Failure("--ofrep", address, error)
        }
    }

    private func server(at endpoint: Endpoint) throws(ExperimentationError) -> OFREPServer {
        let variables = ProcessInfo.processInfo.environment
        let token = token ?? variables["OFREP_TOKEN"]
        var server = OFREPServer(endpoint, token: token.flatMap { $0.isEmpty ? nil : Secret($0) })
        guard let declaration else { return server }
        let value: FlagValue
        do { value = try InputFile.document(declaration).value } catch let failure as Failure {
            throw ExperimentationError(.configuration, failure.message)
        } catch {
            throw ExperimentationError(.configuration, "\(declaration): \(error)")
        }
        var settings = try SettingsReader(value, file: declaration, environment: variables)
        server.declaration = try ServerDeclaration(reading: &settings)
        try settings.finish()
        return server
    }
}

extension ConformCommand {
    /// Tests the server named by `--ofrep`.
    func check(_ server: String) async throws {
        let check = ServerCheck(address: server, token: token, declaration: declaration, patterns: cases)
        try OutputFile.expectWritable(output)
        for report in reports { try OutputFile.expectWritable(report.path) }
        if list { return try OutputFile.deliver(try check.listing(format), to: output) }
        let report = try await check.run()
        try OutputFile.deliver(text(of: report, as: format), to: output)
        for file in reports { try OutputFile.deliver(text(of: report, as: file.format), to: file.path) }
        if !report.isSuccess { throw ExitCode(1) }
    }

    private func text(of report: ServerReport, as format: Format) throws -> String {
        switch format {
        case .junit: report.junit()
        case .json: String(decoding: try report.json(), as: UTF8.self) + "\n"
        default: report.text()
        }
    }
}
