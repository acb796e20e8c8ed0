import ChildProcesses
import Foundation
import Testing

@Suite("The target of --output")
struct OutputTests {
    private static let listing = ["conform", "--list", "--output"]

    private func mode(of url: URL) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    @Test("an existing file is replaced completely and keeps its mode, even behind a link", arguments: [false, true])
    func replaced(isLinked: Bool) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "report.txt")
        let link = folder.appending(path: "link.txt")
        try Data("old".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        if isLinked { try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "report.txt") }
        let result = try await Tool.run(Self.listing + [isLinked ? link.path : file.path])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try String(contentsOf: file, encoding: .utf8).contains("evaluation/"))
        #expect(try mode(of: file) == 0o640)
        if isLinked {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "report.txt")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == (isLinked ? ["link.txt", "report.txt"] : ["report.txt"]))
    }

    @Test("a dangling link creates its target")
    func dangling() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let link = folder.appending(path: "link.txt")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "new.txt")
        let result = try await Tool.run(Self.listing + [link.path])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == "new.txt")
        #expect(try String(contentsOf: folder.appending(path: "new.txt"), encoding: .utf8).contains("evaluation/"))
    }

    @Test("devices and pipes are written to and remain what they are")
    func special() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let device = try await Tool.run(Self.listing + ["/dev/stdout"])
        #expect(device.status == 0, "\(device.errors)")
        #expect(device.output.contains("evaluation/"))
        let pipe = folder.appending(path: "pipe").path
        #expect(mkfifo(pipe, 0o600) == 0)
        // Opened for both ends, so that opening the other one doesn't block.
        let descriptor = open(pipe, O_RDWR)
        defer { close(descriptor) }
        let result = try await Tool.run(["conform", "--list", "--case", "delivery/*", "--output", pipe])
        #expect(result.status == 0, "\(result.errors)")
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).hasPrefix("delivery/"))
        var information = stat()
        #expect(stat(pipe, &information) == 0 && information.st_mode & S_IFMT == S_IFIFO)
    }

    @Test("a replaced file keeps its owner", .enabled(if: geteuid() == 0, "only root may give files away"))
    func owner() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "report.txt").path
        try Data("old".utf8).write(to: URL(filePath: file))
        #expect(chown(file, 4_321, 1_234) == 0)
        #expect(chmod(file, 0o4750) == 0)
        let result = try await Tool.run(Self.listing + [file])
        #expect(result.status == 0, "\(result.errors)")
        var information = stat()
        #expect(stat(file, &information) == 0)
        #expect(
            [information.st_uid, information.st_gid, UInt32(information.st_mode) & 0o7777] == [4_321, 1_234, 0o4750]
        )
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("evaluation/"))
    }

    /// Runs the tool after a command, by a shell; `$file` and `$folder` are where it writes to.
    private func run(_ file: URL, as user: [String] = [], after command: String = ":") async throws -> Tool.Result {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let tool = try Self.tool(in: folder)
        let words = user + ["/bin/sh", "-c", command + #"; exec "$@""#, "sh", tool.path] + Self.listing
        let running = try Running(
            Array(words.dropFirst()) + [file.path],
            executable: URL(filePath: words[0]),
            environment: ["file": file.path, "folder": file.deletingLastPathComponent().path]
        )
        return try await running.result()
    }

    /// Links or copies the tool into a folder that every user may enter; its own may be accessible only to its owner.
    private static func tool(in folder: URL) throws -> URL {
        let place = folder.appending(path: "xp")
        do {
            try FileManager.default.linkItem(at: Tool.executable, to: place)
        } catch {
            try FileManager.default.copyItem(at: Tool.executable, to: place)
        }
        return place
    }

    /// A user without rights of its own; root may write anywhere.
    private static let anybody =
        geteuid() == 0 ? ["/usr/bin/setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", "--inh-caps=-all"] : []
    private static let isolated = ["/usr/bin/unshare", "--mount"]

    private static func canRun(_ words: [String]) async -> Bool {
        let tool = words + [Tool.executable.path, "--version"]
        return await (try? ChildProcess(URL(filePath: tool[0]), Array(tool.dropFirst())))?.status() == 0
    }

    @Test(
        "a file is overwritten if it may be written but its folder doesn't let it be replaced",
        .enabled("needs a user who isn't root") { await canRun(anybody) },
        arguments: ["chmod 0555", "chmod 1777"]
    )
    func keptByItsFolder(mode: String) async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try URL(filePath: Tool.file(String(repeating: "former", count: 100_000), "report.txt", in: folder))
        #expect(chmod(file.path, 0o666) == 0)
        // In a sticky folder, another user's file can't be replaced; a user alone owns all of them.
        let isSticky = mode.hasSuffix("1777")
        #expect(chmod(folder.path, isSticky ? 0o1777 : 0o555) == 0)
        defer { chmod(folder.path, 0o700) }
        let result = try await run(file, as: Self.anybody)
        #expect(result.status == 0, "\(result.errors)")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(text.contains("evaluation/") && !text.contains("former"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["report.txt"])
    }

    @Test(
        "a file that is mounted over another one is overwritten",
        .enabled("needs the right to mount") { await canRun(isolated) }
    )
    func mounted() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try URL(filePath: Tool.file("old", "report.txt", in: folder))
        let outside = try Tool.file("older than the report", "outside.txt", in: folder)
        let result = try await run(file, as: Self.isolated, after: #"mount --bind "$folder/outside.txt" "$file""#)
        #expect(result.status == 0, "\(result.errors)")
        let text = try String(contentsOfFile: outside, encoding: .utf8)
        #expect(text.contains("evaluation/") && !text.contains("older"))
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["outside.txt", "report.txt"]
        )
    }

    @Test(
        "where nothing may be written, the message says what is needed",
        .enabled("needs a user who isn't root") { await canRun(anybody) }
    )
    func withoutRights() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = try URL(filePath: Tool.file("old", "report.txt", in: folder))
        #expect(chmod(file.path, 0o444) == 0 && chmod(folder.path, 0o555) == 0)
        defer { chmod(folder.path, 0o700) }
        let kept = try await run(file, as: Self.anybody)
        #expect(kept.status == 66)
        #expect(kept.complaint == "xp: \(file.path): can't be written; expected a file that may be changed")
        let new = folder.appending(path: "new.txt")
        let refused = try await run(new, as: Self.anybody)
        #expect(refused.status == 66)
        #expect(refused.complaint == "xp: \(new.path): can't be written; expected a folder that may be changed")
        #expect(try String(contentsOf: file, encoding: .utf8) == "old")
    }

    @Test("link loops are rejected and kept")
    func loop() async throws {
        let folder = try Tool.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (one, other) = (folder.appending(path: "one").path, folder.appending(path: "other").path)
        try FileManager.default.createSymbolicLink(atPath: one, withDestinationPath: "other")
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: "one")
        let result = try await Tool.run(Self.listing + [one])
        #expect(result.status == 66)
        #expect(result.complaint == "xp: \(one): can't be written; expected a file in a folder that exists")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: one) == "other")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: other) == "one")
    }

    @Test(
        "a folder, a missing folder and an empty name are rejected before the work",
        arguments: ["/tmp", "/no/such/file", ""]
    )
    func refused(path: String) async throws {
        let result = try await Tool.run(Self.listing + [path])
        #expect(result.status == 66)
        #expect(result.complaint.contains("can't be written"))
    }
}
