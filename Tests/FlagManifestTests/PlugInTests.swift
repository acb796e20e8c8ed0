import ChildProcesses
import Foundation
import Testing
import Waiting

@Suite("The plug-in, in a package of its own", .enabled(if: isSoak), .timeLimit(.minutes(15)))
struct PlugInTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func write(_ text: String, _ path: String, in folder: URL) throws {
        let file = folder.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    private static func build(_ folder: URL) async throws -> (status: Int32, text: String) {
        let process = try ChildProcess(
            URL(filePath: "/usr/bin/env"),
            ["swift", "build", "-v"],
            folder: folder
        )
        let status = await process.status()
        await process.output.untilEnd()
        await process.errors.untilEnd()
        return (status, process.output.text + process.errors.text)
    }

    @Test(
        "generates the keys of a package that depends on this one, and recompiles nothing while the manifest is unchanged"
    )
    func outside() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "plugged-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.write(
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "plugged", platforms: [.macOS(.v15)],
                dependencies: [.package(name: "swift-experimentation", path: "\(Self.root.path)")],
                targets: [
                    .executableTarget(
                        name: "plugged",
                        dependencies: [.product(name: "Experimentation", package: "swift-experimentation")],
                        plugins: [.plugin(name: "GenerateFlagKeys", package: "swift-experimentation")]
                    )
                ]
            )
            """,
            "Package.swift",
            in: folder
        )
        func manifest(_ key: String) -> String { #"{"flags":{"\#(key)":{"flagType":"integer","defaultValue":3}}}"# }
        try Self.write(manifest("cart-size"), "Sources/plugged/flags.json", in: folder)
        try Self.write(
            """
            import Experimentation
            @main struct Plugged { static func main() { print(Flags.cartSize.key, Flags.cartSize.defaultValue) } }
            """,
            "Sources/plugged/Plugged.swift",
            in: folder
        )
        let first = try await Self.build(folder)
        #expect(first.status == 0, "\(first.text.suffix(2_000))")
        let second = try await Self.build(folder)
        #expect(second.status == 0)
        #expect(!second.text.contains("-module-name plugged"), "\(second.text.suffix(2_000))")
        try Self.write(manifest("cart-length"), "Sources/plugged/flags.json", in: folder)
        let third = try await Self.build(folder)
        #expect(third.status != 0 && third.text.contains("has no member 'cartSize'"), "\(third.text.suffix(2_000))")
    }
}
