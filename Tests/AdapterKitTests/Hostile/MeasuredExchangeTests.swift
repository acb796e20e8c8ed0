#if os(Linux)
    import AdapterKit
    import Experimentation
    import Foundation
    import MockVendors
    import Testing
    import Waiting

    @Suite("Memory and lateness of exchanges, measured in a child process", .serialized)
    struct MeasuredExchangeTests {
        private func peak(at port: Int, limit: Int) async throws -> (ending: String, megabytes: Int) {
            let words = try #require(try await HostilePart.peak.play("\(port)", "\(limit)"))
            let kilobytes = try #require(Int(words[1]))
            print("peak: \(words[0]), \(kilobytes) KB")
            return (words[0], kilobytes >> 10)
        }

        @Test("P50 a stream of 100 MB never uses more than 32 MB of memory", arguments: [true, false])
        func stream(announced: Bool) async throws {
            let server = try RawServer { SizeTests.stream(100 << 20, announced: announced, to: $0) }
            defer { server.stop() }
            let (ending, megabytes) = try await peak(at: server.port, limit: SizeTests.cap)
            #expect(ending == ErrorCode.tooLarge.rawValue)
            #expect(megabytes <= 32)
        }

        @Test("P50 200 MB compressed to 200 KB never use more than 32 MB of memory")
        func bomb() async throws {
            let server = MockServer(Bomber())
            try await server.start()
            let port = try #require(server.url.split(separator: ":").last.flatMap { Int($0) })
            let (ending, megabytes) = try await peak(at: port, limit: SizeTests.cap)
            await server.stop()
            #expect(ending == ErrorCode.tooLarge.rawValue)
            #expect(megabytes <= 32)
        }

        @Test("the measurement detects a body that is kept in memory")
        func bites() async throws {
            let server = try RawServer { SizeTests.stream(64 << 20, announced: true, to: $0) }
            defer { server.stop() }
            let (ending, megabytes) = try await peak(at: server.port, limit: 64 << 20)
            #expect(ending == "status 200 with \(64 << 20) bytes")
            #expect(megabytes >= 64)
        }

        @Test(
            "P35 each of ten calls ends within a quarter of a second after its deadline",
            .enabled(if: isSoak, "its bound is for a machine that does nothing else"),
            arguments: DeadlineTests.Delay.allCases
        )
        func inTime(delay: DeadlineTests.Delay) async throws {
            let words = try #require(try await HostilePart.lateness.play(delay.rawValue))
            let codes = stride(from: 0, to: words.count, by: 2).map { words[$0] }
            let took = stride(from: 1, to: words.count, by: 2).compactMap { Double(words[$0]) }
            print("lateness: \(delay), \((took.max() ?? 0) - DeadlineTests.deadline / .milliseconds(1)) ms")
            #expect(codes == Array(repeating: ErrorCode.timeout.rawValue, count: 10))
            #expect(took.count == 10)
            #expect(took.allSatisfy { (180...450).contains($0) }, "\(took)")
        }
    }
#endif
