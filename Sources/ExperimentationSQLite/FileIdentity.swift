#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Which file is at a path: the name may be given to another one while the first is open.
struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let number: UInt64

    /// Looks at what is at a path; `nil` if nothing does.
    init?(of path: String) {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: facts.st_dev)
        number = UInt64(truncatingIfNeeded: facts.st_ino)
    }
}

/// The identities of a store's files as they were opened.
struct FileIdentities: Sendable {
    private let path: String
    private let database: FileIdentity?
    private let beside: [String: FileIdentity]

    /// Notes what is at a store's path and beside it.
    init(of path: String) {
        self.path = path
        database = FileIdentity(of: path)
        beside = ["-wal", "-shm"].reduce(into: [:]) { $0[$1] = FileIdentity(of: path + $1) }
    }

    /// Whether the open file is still at its path.
    var areCurrent: Bool { FileIdentity(of: path) == database }

    /// Deletes the log and the index of a database that isn't at its path any more, if they still are.
    ///
    /// A process that opens another database there would take them for its own; those that have them open keep them.
    func forgetBeside() {
        for (ending, identity) in beside where FileIdentity(of: path + ending) == identity { unlink(path + ending) }
    }
}
