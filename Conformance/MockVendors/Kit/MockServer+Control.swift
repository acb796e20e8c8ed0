import Foundation

extension MockServer {
    /// The part of a path below `/_mock`; `nil` for the vendor's own paths.
    func controlPath(_ path: String) -> String? {
        guard path == "/_mock" || path.hasPrefix("/_mock/") else { return nil }
        let rest = String(path.dropFirst("/_mock".count))
        return rest.isEmpty ? "/" : rest
    }

    /// Answers requests of tests and people to the server itself.
    func control(_ path: String, _ request: MockRequest) async -> MockResponse {
        guard isOwnName(request) else {
            return problem(403, "only the machine's own names reach /_mock: 127.0.0.1, localhost or [::1]")
        }
        switch (path, request.method) {
        case ("/requests", "GET"):
            var answer = encoded(journal.map(JournalLine.init))
            answer.headers.append(.init("Mock-Forgotten", String(forgottenEntries)))
            return answer
        case ("/requests", "DELETE"):
            clearJournal()
            return MockResponse(status: 204)
        case ("/reset", "POST"):
            await reset()
            return MockResponse(status: 204)
        case ("/script", "GET"):
            return encoded(script)
        case ("/script", "POST"):
            return setScript(from: request.body)
        case ("/world", "PUT"):
            do throws(MockWorldError) {
                try await vendor.load(Data(request.body))
                return MockResponse(status: 204)
            } catch {
                return problem(400, "\(error)")
            }
        case ("/requests", _), ("/reset", _), ("/script", _), ("/world", _):
            return problem(405, "\(request.method) \(request.path) is not offered")
        default:
            var inner = request
            inner.path = path
            return await vendor.control(inner) ?? problem(404, "nothing at \(request.path)")
        }
    }

    /// Whether the request's `Host` is a name of this machine: keeps web pages from reaching it by DNS rebinding.
    private func isOwnName(_ request: MockRequest) -> Bool {
        let names = request.headers.filter { $0.name.lowercased() == "host" }.map { header in
            let host = header.value.lowercased()
            if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
            return String(host.prefix { $0 != ":" })
        }
        return names.allSatisfy { ["localhost", "[::1]", self.host].contains($0) || Self.isLoopback($0) }
    }

    private static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return parts.count == 4 && parts[0] == 127 && parts.allSatisfy { $0 != nil }
    }

    private func setScript(from body: [UInt8]) -> MockResponse {
        do {
            setScript(try JSONDecoder().decode([ScriptedFault].self, from: Data(body)))
            return MockResponse(status: 204)
        } catch let error as DecodingError {
            return problem(400, Self.sentence(for: error))
        } catch {
            return problem(400, "\(error)")
        }
    }

    private func encoded(_ value: some Encodable) -> MockResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return problem(500, "the answer can't be written") }
        return MockResponse(
            status: 200,
            headers: [.init("Content-Type", "application/json")],
            body: Array(data)
        )
    }

    private func problem(_ status: Int, _ reason: String) -> MockResponse {
        let answer = encoded(["error": reason])
        return MockResponse(status: status, headers: answer.headers, body: answer.body)
    }

    /// Describes the path and the reason.
    static func sentence(for error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, let context): "\(place(context)): \"\(key.stringValue)\" is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(place(context)): \(context.debugDescription)"
        case .dataCorrupted(let context): "\(place(context)): \(context.debugDescription)"
        @unknown default: "\(error)"
        }
    }

    private static func place(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined()
        return path.isEmpty ? "the document" : path.hasPrefix(".") ? String(path.dropFirst()) : path
    }
}

/// A journal entry in the format of `/_mock/requests`.
private struct JournalLine: Encodable {
    var number: Int
    var connection: Int
    var received: Double
    var operation: String
    var method: String
    var path: String
    var query: String?
    var headers: [MockRequest.Header]
    var body: String
    var status: Int?
    var fault: Fault?
    var bytesIn: Int
    var bytesOut: Int

    init(_ entry: JournalEntry) {
        number = entry.number
        connection = entry.connection
        received = entry.received
        operation = entry.operation
        method = entry.request.method
        path = entry.request.path
        query = entry.request.query
        headers = entry.request.headers
        body = entry.request.text
        status = entry.response?.status
        fault = entry.fault
        bytesIn = entry.bytesIn
        bytesOut = entry.bytesOut
    }
}
