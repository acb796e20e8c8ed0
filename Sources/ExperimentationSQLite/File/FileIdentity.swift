#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Identifies the file at a path: another file may take the name while the first is open.
struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Identifies what is at a path; `nil` if nothing is.
    init?(of path: String) {
        var facts = stat()
        // Passed as it is, a string would be copied first, for each transaction.
        guard path.withCString({ lstat($0, &facts) }) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        number = UInt64(truncatingIfNeeded: facts.st_ino)
    }
}

/// The identities of a store's files as they were opened.
struct FileIdentities: Sendable {
    private let path: String
    private let database: FileIdentity?
    private let beside: [String: FileIdentity]

    /// Records what is at a store's path and beside it.
    init(of path: String) {
        self.path = path
        database = FileIdentity(of: path)
        beside = ["-wal", "-shm"].reduce(into: [:]) { $0[$1] = FileIdentity(of: path + $1) }
    }

    /// Whether the open file is still at its path.
    var areCurrent: Bool { FileIdentity(of: path) == database }

    /// Deletes the log and index of a database that is no longer at its path, unless they have been replaced.
    ///
    /// A process that opens another database there would take them for its own; processes that have them open keep
    /// them.
    func forgetBeside() {
        for (ending, identity) in beside where FileIdentity(of: path + ending) == identity { unlink(path + ending) }
    }
}
