import Foundation
import Testing
import Waiting

@Suite("An acknowledged denial survives the end of its process", .serialized)
struct EndedDenialTests {
    private static func name(_ number: Int) -> String { "event-\(number)-end" }

    private static func lines(_ count: Int, consent: Bool) -> String {
        (0..<count).map { number in
            """
            {"user":{"id":"user-\(number)","consent":\(consent)},"event":{"type":"custom","name":"\(name(number))"}}
            """
        }.joined(separator: "\n")
    }

    @Test(
        "P24 of thousands of waiting events, none is delivered whose denial was acknowledged before the end",
        arguments: [SIGKILL, SIGTERM]
    )
    func ended(by signal: Int32) async throws {
        let count = isSoak ? 3_000 : 300
        let mock = try await ServedMock("flagship")
        let silence = try Silence()
        let silent = try mock.configuration(of: silence)
        let store = mock.folder.appending(path: "outbox.db").path
        let granted = try Tool.file(Self.lines(count, consent: true), "granted.jsonl", in: mock.folder)
        _ = try await Tool.run(["track", "--config", silent, "--store", store, "--input", granted, "--deadline", "0"])
        let denied = try Tool.file(Self.lines(count, consent: false), "denied.jsonl", in: mock.folder)
        let running = try Running(["track", "--config", silent, "--store", store, "--input", denied])
        _ = try await running.firstLine()
        running.send(signal)
        let told = try await running.result().lines.compactMap { line -> Int? in
            // The end may have truncated the last line.
            guard let error = try? JSONValue(line) else { return nil }
            let isDenied = error["error"]?["code"]?.string == "CONSENT_DENIED"
            return isDenied ? error["line"]?.number.map { Int($0) - 1 } : nil
        }
        #expect(!told.isEmpty)
        let exported = try await Tool.run(["outbox", "export", "--store", store]).output
        let flushed = try await Tool.run(["outbox", "flush", "--store", store, "--config", try mock.configuration()])
        #expect(flushed.status == 0, "\(flushed.errors)")
        let requests = try String(contentsOf: try #require(URL(string: mock.url + "/_mock/requests")), encoding: .utf8)
        for number in told {
            #expect(!exported.contains(Self.name(number)) && !requests.contains(Self.name(number)), "user \(number)")
        }
        // Other users' events arrive.
        let others = (0..<count).filter { exported.contains(Self.name($0)) }
        #expect(others.allSatisfy { requests.contains(Self.name($0)) })
        let ledger = try JSONValue(flushed.output)["ledger"]
        #expect(ledger?["pending"]?.number == 0 && ledger?["purged"]?.number ?? 0 >= Double(told.count))
        _ = try await mock.end()
    }
}
