import Experimentation
import ExperimentationSQLite
import Foundation

/// The store files of a run, in a temporary folder.
struct StoreFiles: Sendable {
    /// Roughly what the stores of a case need at most.
    private static let room = 1 << 20
    private let folder = TemporaryFolder(of: "conform")

    /// Opens the file of an id; the same id opens the same file.
    func open(_ id: String) async throws -> ClientStore {
        try folder.create()
        return try await .sqlite(at: folder.url.appending(path: "\(id).sqlite"))
    }

    /// Rejects a folder that can't hold the files: cases that failed there say nothing about an adapter.
    func expectRoom() throws {
        try folder.create()
        do {
            try Data(count: Self.room).write(to: folder.url.appending(path: "room"))
        } catch {
            throw Failure(.input, "\(folder.place): has no room for the cases' stores; TMPDIR names another folder")
        }
    }

    /// Removes the folder.
    func remove() { folder.remove() }

    /// Arranges for the folder to be removed once this process has ended.
    func removeAfterwards() { folder.removeAfterwards() }
}
