#if os(Linux)
    import Foundation
    import Testing
    import Waiting

    @Suite("Memory use with a long file", .serialized)
    struct MemoryTests {
        /// Runs `xp track`; returns its peak memory in megabytes and its final ledger.
        private func run(
            _ lines: Int,
            users: Int,
            _ mock: ServedMock,
            isAway: Bool
        ) async throws -> (megabytes: Double, ledger: JSONValue?) {
            let input = mock.folder.appending(path: "events.jsonl")
            try Data().write(to: input)
            let handle = try FileHandle(forWritingTo: input)
            for block in stride(from: 0, to: lines, by: 1_000) {
                let text = (block..<min(block + 1_000, lines)).map { number in
                    #"{"user":{"id":"user-\#(number * 7_919 % users)","consent":true},"#
                        + #""event":{"type":"custom","name":"event \#(number)"}}"# + "\n"
                }
                try handle.write(contentsOf: Data(text.joined().utf8))
            }
            try handle.close()
            let store = mock.folder.appending(path: "\(lines).db").path
            let running = try Running([
                "track", "--config", try configuration(mock, isAway: isAway), "--store", store, "--input", input.path,
                "--deadline", isAway ? "0" : "60",
            ])
            let megabytes = try await running.peakMemory()
            let result = try await running.result(within: 600)
            #expect(result.status == (isAway ? 69 : 0), "\(result.errors)")
            for ending in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: store + ending) }
            return (megabytes, try JSONValue(result.lines.last ?? "")["ledger"])
        }

        private func configuration(_ mock: ServedMock, isAway: Bool) throws -> String {
            // Without the rate limit: Evergage otherwise gets two events a second.
            let isPaced = mock.head["vendor"]?.string == "evergage"
            let path = try mock.configuration(isPaced ? #","requestsPerFiveSeconds":0"# : "")
            guard isAway else { return path }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            return try Tool.file(text.replacing(mock.url, with: "http://127.0.0.1:9"), "away.json", in: mock.folder)
        }

        @Test(
            "xp track uses as much memory for a long file as for a short one",
            arguments: [
                ("flagship", true, 5_000, 25_000), ("engage", true, 5_000, 25_000), ("evergage", true, 20_000, 100_000),
                ("flagship", false, 1_000, 5_000), ("engage", false, 1_000, 5_000), ("evergage", false, 1_000, 5_000),
            ]
        )
        func track(vendor: String, isAway: Bool, few: Int, many: Int) async throws {
            // The mock keeps every request in memory, and Evergage's gets one per event.
            let full = vendor == "evergage" && !isAway ? 100_000 : 1_000_000
            let (few, many) = isSoak ? (20_000, full) : (few, many)
            let mock = try await ServedMock(vendor)
            let short = try await run(few, users: 1_000, mock, isAway: isAway)
            let long = try await run(many, users: 1_000, mock, isAway: isAway)
            func megabytes(_ run: (megabytes: Double, ledger: JSONValue?)) -> String { "\(Int(run.megabytes)) MB" }
            print(
                "xp track, \(vendor) \(isAway ? "away" : "there"): \(few) lines \(megabytes(short)), "
                    + "\(many) lines \(megabytes(long))"
            )
            #expect(long.ledger?["accepted"]?.number == Double(many))
            #expect(long.ledger?["pending"]?.number == (isAway ? Double(many) : 0))
            #expect(long.megabytes - short.megabytes <= (isSoak ? 16 : 10))
            _ = try await mock.end()
        }
    }
#endif
