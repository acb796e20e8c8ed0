import Experimentation
import ExperimentationSQLite
import Foundation

/// The store files of a run, in a folder of their own that goes with it.
struct StoreFiles: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "xp-conform-\(UUID().uuidString)")

    /// Opens the file of an id, which is the same file each time.
    func open(_ id: String) async throws -> ClientStore {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await .sqlite(at: folder.appending(path: "\(id).sqlite"))
    }

    /// Removes all of them.
    func remove() { try? FileManager.default.removeItem(at: folder) }
}
