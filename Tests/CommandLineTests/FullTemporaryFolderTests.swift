import ChildProcesses
import Foundation
import Testing

@Suite("A folder for temporary files that can't be used")
struct FullTemporaryFolderTests {
    /// How a process gets a full disk of its own for temporary files: not every user may mount one.
    private static func mounting() async -> [String]? {
        for flags in ["-rm", "-m"] {
            let script = """
                mount -t tmpfs -o size=64k,mode=0700 tmpfs "$0" && { cat /dev/zero > "$0/full" 2> /dev/null; TMPDIR="$0" "$@"; }
                """
            let words = ["/usr/bin/unshare", flags, "/bin/sh", "-c", script]
            let trial = try? ChildProcess(URL(filePath: words[0]), words.dropFirst() + ["/mnt", "/bin/true"])
            if await trial?.status() == 0 { return words }
        }
        return nil
    }

    @Test(
        "xp conform blames no adapter for it, and writes no report",
        .enabled("this system doesn't allow mounting a small disk (unshare -rm)") { await mounting() != nil }
    )
    func conform() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let words = try #require(await Self.mounting())
        let child = try ChildProcess(
            URL(filePath: words[0]),
            words.dropFirst() + [
                folder.path, Tool.executable.path, "conform", "--vendor", "in-memory", "--store", "sqlite", "--case",
                "events/*",
            ]
        )
        let status = await child.status()
        for text in [child.output, child.errors] { await text.untilEnd() }
        #expect(status == 66)
        #expect(child.output.text == "")
        let problem = "has no room for the cases' stores; TMPDIR names another folder"
        #expect(child.errors.text == "xp: \(folder.path): \(problem)\n")
    }

    @Test(
        "xp migrate simulate names the folder in which it can't make its own",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self"))
    )
    func simulate() async throws {
        let result = try await Tool.run(
            ["migrate", "simulate", "--from", "sigma", "--to", "flagship-bucketing", "--users", "200000"],
            environment: ["TMPDIR": "/proc"]
        )
        #expect(result.status == 66)
        #expect(result.errors == "xp: /proc: no folder can be made there; TMPDIR names another one\n")
    }
}
