import ChildProcesses
import Foundation
import Testing
import Waiting

/// The samples of `docs/examples`: compiled as they stand against the library that is built beside the tests, and run against
/// mock vendors.
@Suite("Samples", .serialized, .timeLimit(.minutes(15)))
struct ExampleTests {
    private static let examples = Tool.root.appending(path: "docs/examples")

    /// A running mock, and the configuration that it prints.
    private static func mock(_ vendor: String, in folder: URL) async throws -> (mock: Running, configuration: String) {
        let mock = try Running(["mock", vendor], holdsInput: true)
        return (mock, try await Tool.file(mock.firstLine(), "\(vendor).json", in: folder))
    }

    @Test("each is at most 150 lines", arguments: ["storefront", "mover"])
    func size(name: String) throws {
        let sources = Self.examples.appending(path: "\(name)/Sources/\(name)")
        let files = try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil)
        let lines = try (files + [Self.examples.appending(path: "\(name)/Package.swift")])
            .map { try String(contentsOf: $0, encoding: .utf8).split(separator: "\n").count }
        #expect(lines.reduce(0, +) <= 150)
    }

    @Test("the service answers by whichever vendor its file names, and delivers what it accepted")
    func storefront() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = try await Sample.compile("storefront", in: folder)
        for vendor in ["sigma", "flagship", "ofrep"] {
            let (mock, configuration) = try await Self.mock(vendor, in: folder)
            let service = try Running([configuration], executable: program)
            let address = try await service.firstLine()
            let (status, answer) = try await Self.ask("\(address)/button?user=ada")
            #expect(status == 200)
            let color = (answer as? [String: String])?["color"] ?? ""
            #expect(["grey", "green", "blue"].contains(color), "\(vendor): \(String(describing: answer))")
            #expect(try await Self.ask("\(address)/button").0 == 400)
            let paid = try await Self.ask("\(address)/paid?user=ada", method: "POST").0
            #expect(paid == (vendor == "flagship" ? 202 : 503), "\(vendor)")
            service.terminate()
            #expect(try await service.result().status == 0)
            mock.terminate()
            _ = try await mock.result()
        }
    }

    @Test("the mover takes users from one vendor to another, stage by stage, and nobody sees another variation")
    func mover() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = try await Sample.compile("mover", in: folder)
        let (old, oldFile) = try await Self.mock("flagship-bucketing", in: folder)
        let (new, newFile) = try await Self.mock("sigma", in: folder)
        let plan = folder.appending(path: "plan.json").path
        _ = try await Tool.run(["migrate", "plan", "--from", oldFile, "--to", newFile, "--output", plan])
        let users = (0..<30).map { "user-\($0)" }
        var seen: [String: Set<String>] = [:]
        for stage in [["dualWrite"], ["shadow"], ["live", "0.5"], ["rampDown"]] {
            let run = try Running(
                [oldFile, newFile, plan, folder.appending(path: "app.db").path] + stage,
                executable: program,
                input: users.joined(separator: "\n") + "\n"
            )
            let result = try await run.result()
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.lines.filter { $0.hasPrefix("user-") }.count == 30, "\(result.output)")
            for line in result.lines where line.hasPrefix("user-") {
                let parts = line.split(separator: " ")
                seen[String(parts[0]), default: []].insert(String(parts[1]))
            }
            #expect(
                result.lines.contains { $0.hasPrefix("stage \(stage[0]), changed 0, ratio alarms 0") },
                "\(result.output)"
            )
        }
        #expect(seen.values.filter { $0.count != 1 }.isEmpty, "\(seen)")
        for mock in [old, new] {
            mock.terminate()
            _ = try await mock.result()
        }
    }

    private static func ask(_ address: String, method: String = "GET") async throws -> (Int, Any?) {
        // The tests' own machine has it, and it needs no library of ours.
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            ["curl", "-s", "-X", method, "-w", "\n%{http_code}", address]
        )
        _ = await process.status()
        await process.output.untilEnd()
        let lines = process.output.text.split(separator: "\n")
        let body = lines.first.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) }
        return (lines.last.flatMap { Int($0) } ?? 0, body)
    }
}

/// Compiles a sample with the objects of the library's own build, as its package would.
enum Sample {
    /// The modules that the samples are made of.
    private static let modules =
        [
            "Experimentation", "AdapterKit", "ExperimentationComposition", "ExperimentationMigration",
            "ExperimentationSQLite", "VendorCatalog", "FlagshipAdapter", "SigmaAdapter", "EngageAdapter",
            "EvergageAdapter", "OFREPAdapter", "HTTPTypes", "GRDB",
        ]
    private static let ofNIO = [
        "NIOCore", "NIOPosix", "NIOHTTP1", "NIOConcurrencyHelpers", "Atomics", "_AtomicsShims", "DequeModule",
        "InternalCollectionsUtilities", "SystemPackage", "_NIODataStructures", "_NIOBase64", "CNIOAtomics",
        "CNIOLLHTTP",
        "CNIOLinux", "CNIOPosix", "CNIODarwin", "CNIOWindows", "CNIOFreeBSD", "CNIOOpenBSD", "CNIOWASI",
        "_NIOConcurrency",
        "NIOEmbedded", "NIOTLS", "ContainersPreview", "BasicContainers", "CSystem",
    ]

    static func compile(_ name: String, in folder: URL) async throws -> URL {
        let build = Tool.executable.deletingLastPathComponent()
        let files = FileManager.default
        func objects(_ module: String) -> [String] {
            let place = build.appending(path: "\(module).build")
            let found = files.enumerator(at: place, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
            return found.filter { $0.pathExtension == "o" }.map(\.path)
        }
        let sources = Tool.root.appending(path: "docs/examples/\(name)/Sources/\(name)")
        let swift = try files.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil).map(\.path)
        let parts = name == "storefront" ? modules + ofNIO : modules
        let maps =
            parts.map { build.appending(path: "\($0).build/module.modulemap").path }
            + ["Sources/CCurl/module.modulemap", ".build/checkouts/GRDB.swift/Sources/GRDBSQLite/module.modulemap"]
            .map { Tool.root.appending(path: $0).path }
        let program = folder.appending(path: name)
        let list = folder.appending(path: "\(name).objects")
        try Data(parts.flatMap(objects).map { "\"\($0)\"" }.joined(separator: "\n").utf8).write(to: list)
        let shims = Tool.root.appending(path: ".build/checkouts/swift-atomics/Sources/_AtomicsShims/include").path
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            ["swiftc", "-parse-as-library", "-swift-version", "6", "-I", build.appending(path: "Modules").path]
                + ["-Xcc", "-I\(shims)"]
                + maps.filter(files.fileExists).flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
                + swift + ["@\(list.path)", "-lcurl", "-lsqlite3", "-o", program.path]
        )
        let status = await process.status()
        await process.errors.untilEnd()
        try #require(status == 0, "\(process.errors.text.suffix(3_000))")
        return program
    }
}
