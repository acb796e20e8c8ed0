import AdapterKit
import BenchmarkHarness
import Experimentation
import Foundation
import MockVendors

/// `xp evaluate` in bucketing mode, run as a command: users per second, and the time that remains after subtracting
/// reading and writing the same lines.
enum EvaluationShare {
    static let users = 20_000
    static let campaigns = 10

    static func measure(_ table: inout Table, program: URL) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bench-evaluate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mock = FlagshipMock()
        try await mock.load(Data(file.utf8))
        let server = MockServer(mock)
        try await server.start()
        let configuration = folder.appending(path: "flagship.json")
        try Data(
            """
            {"vendor":"flagship","environmentID":"bkk9glocmjcg0vtmdlng","apiKey":"\(mock.apiKey)","mode":"bucketing",
             "endpoints":{"decision":"\(server.url)/v2/","cdn":"\(server.url)","events":"\(server.url)"}}
            """.utf8
        ).write(to: configuration)
        let input = folder.appending(path: "users.jsonl")
        let lines = (0..<users).map {
            #"{"user":{"id":"visitor-\#($0)","attributes":{"city":"lyon","age":\#($0 % 80),"vip":\#($0 % 2 == 0)}}}"#
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: input)

        let output = folder.appending(path: "decisions.jsonl")
        let before = childrenSeconds()
        let start = ContinuousClock.now
        try run(program, ["evaluate", "--config", configuration.path, "--input", input.path], into: output)
        let wall = (ContinuousClock.now - start).nanoseconds / 1e9
        let whole = childrenSeconds() - before
        await server.stop()

        let written = try Data(contentsOf: output).split(separator: 0x0A)
        guard written.count == users else { return print("\(written.count) lines came out of \(users)") }
        let json = try secondsOfJSON(
            reading: lines.map { Array($0.utf8) },
            writing: written.map { try JSON.parse(Array($0)) }
        )
        table.add("xp evaluate, \(campaigns) campaigns", Double(users) / wall, atLeast: 1_000, unit: "users/s")
        table.add("  processor time outside of JSON", 100 * (1 - json / whole), atMost: 50, unit: "%")
    }

    /// Reads and writes as the command does, and nothing else.
    private static func secondsOfJSON(reading: [[UInt8]], writing: [FlagValue]) throws -> Double {
        let before = ownSeconds()
        for line in reading { consume(try JSON.parse(line)) }
        for value in writing {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            consume(String(decoding: try encoder.encode(value), as: UTF8.self))
        }
        return ownSeconds() - before
    }

    private static func run(_ program: URL, _ arguments: [String], into output: URL) throws {
        guard FileManager.default.createFile(atPath: output.path, contents: nil) else { return }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try handle.close()
    }

    static let file: String = {
        let list = (0..<campaigns).map { number in
            """
            {"id":"camp-\(number)","type":"ab","slug":"kiwi-\(number)","name":"Kiwi \(number)","variationGroups":[{"id":"grp-\(number)",
            "name":"Lyon","targeting":{"targetingGroups":[{"targetings":[
            {"operator":"EQUALS","key":"city","value":"lyon"},{"operator":"GREATER_THAN","key":"age","value":\(number)}]}]},
            "variations":[
            {"id":"a-\(number)","allocation":50,"reference":true,"modifications":{"type":"FLAG","value":{"kiwi-\(number)":false}}},
            {"id":"b-\(number)","allocation":50,"modifications":{"type":"FLAG","value":{"kiwi-\(number)":true}}}]}]}
            """
        }
        return #"{"campaigns":[\#(list.joined(separator: ","))]}"#
    }()
}
