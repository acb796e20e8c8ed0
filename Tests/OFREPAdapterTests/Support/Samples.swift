import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import Testing

@testable import OFREPAdapter

/// Common values of these tests.
enum Samples {
    static let base = Endpoint(https: "flags.example.com", path: "/app")

    /// Returns a fixture file.
    static func fixture(_ name: String) throws -> [UInt8] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: root.appending(path: "Conformance/Fixtures/OFREP/\(name)")))
    }

    /// Returns a stream at a URL.
    static func stream(_ url: String) throws -> OFREPStream {
        let announcement = OFREPStream.Announcement(["type": "sse", "url": .string(url)])
        return try #require(announcement.flatMap { OFREPStream($0, of: base) })
    }

    /// Returns an answer with one flag.
    static func answer(_ value: String, tag: String? = nil, more: String = "") -> ScriptedTransport.Answer {
        var fields: HTTPFields = [.contentType: "application/json"]
        if let tag { fields[.eTag] = tag }
        let text = #"{"flags":[{"key":"color","value":"\#(value)","reason":"STATIC","variant":"v"}]\#(more)}"#
        return .reply(HTTPReply(response: HTTPResponse(status: 200, headerFields: fields), body: Array(text.utf8)))
    }

    /// Returns a client with a transport and a clock.
    static func client(
        _ transport: any HTTPTransport,
        changes: OFREPConfiguration.Changes = .none,
        time: ManualTime = ManualTime(),
        log: any LogSink = RecordingLog(),
        configure: (inout OFREPConfiguration) -> Void = { _ in }
    ) async throws -> ExperimentationClient {
        var configuration = OFREPConfiguration(baseURL: base, token: "token-canary", changes: changes)
        configuration.retry = .none
        configure(&configuration)
        return try await ExperimentationClient(
            provider: OFREPProvider(configuration: configuration, transport: transport),
            environment: ClientEnvironment(time: time, jitter: { 0 }, log: log)
        )
    }
}

/// Returns the error of a refresh; `nil` if it succeeded.
func failure(of session: UserSession) async -> ExperimentationError? {
    do throws(ExperimentationError) {
        try await session.refresh()
        return nil
    } catch {
        return error
    }
}
