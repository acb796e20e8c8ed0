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
