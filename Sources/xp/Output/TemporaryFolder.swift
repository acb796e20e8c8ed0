import Foundation

/// The folder of a run's own files.
struct TemporaryFolder: Sendable {
    let url: URL

    /// Names a folder that doesn't exist yet.
    init(of run: String) {
        url = FileManager.default.temporaryDirectory.appending(path: "xp-\(run)-\(UUID().uuidString)")
    }

    /// The folder that it is in.
    var place: String { url.deletingLastPathComponent().path }

    /// Creates it, unless it exists.
    func create() throws {
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw Failure(.input, "\(place): no folder can be made there; TMPDIR names another one")
        }
    }

    /// Removes it.
    ///
    /// An attempt fails when a store of a killed client makes or deletes a file meanwhile. If one still works after a
    /// hundred attempts, the folder is removed when this process ends.
    func remove() {
        for _ in 0..<100 where FileManager.default.fileExists(atPath: url.path) {
            try? FileManager.default.removeItem(at: url)
        }
        if FileManager.default.fileExists(atPath: url.path) { removeAfterwards() }
    }

    /// Arranges for it to be removed once this process has ended: until then, its stores would create their files anew.
    func removeAfterwards() {
        let remover = Process()
        remover.executableURL = URL(filePath: "/bin/sh")
        // Reads to the end of its input, which comes when this process has ended.
        remover.arguments = ["-c", #"cat > /dev/null; rm -rf -- "$0""#, url.path]
        remover.standardInput = Pipe()
        do { try remover.run() } catch { try? FileManager.default.removeItem(at: url) }
    }
}
