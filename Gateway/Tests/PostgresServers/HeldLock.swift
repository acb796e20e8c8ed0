import Foundation

/// A lock of a database, held in a session of its own.
public final class HeldLock: Sendable {
    private let input: FileHandle
    /// The server's process that holds the lock.
    public let holder: String

    /// Takes the lock under which the tables of a schema are created or upgraded, as a machine that is doing so does.
    ///
    /// - Parameters:
    ///   - schema: The schema's name.
    ///   - server: Where it is.
    /// - Throws: ``PostgresServer/Failure``.
    public convenience init(openingOf schema: String, at server: PostgresServer) throws {
        try self.init(by: "PERFORM pg_advisory_xact_lock(hashtextextended('\(schema)', 5551));", at: server)
    }

    /// Keeps others from writing to a table.
    ///
    /// - Parameters:
    ///   - table: The table's name, with its schema's.
    ///   - server: Where it is.
    /// - Throws: ``PostgresServer/Failure``.
    public convenience init(writingTo table: String, at server: PostgresServer) throws {
        try self.init(by: "LOCK TABLE \(table) IN SHARE MODE;", at: server)
    }

    /// Keeps others from locking a table's rows, and from writing to it.
    ///
    /// - Parameters:
    ///   - table: The table's name, with its schema's.
    ///   - server: Where it is.
    /// - Throws: ``PostgresServer/Failure``.
    public convenience init(lockingRowsOf table: String, at server: PostgresServer) throws {
        try self.init(by: "LOCK TABLE \(table) IN EXCLUSIVE MODE;", at: server)
    }

    private init(by statement: String, at server: PostgresServer) throws {
        let (into, out) = (Pipe(), Pipe())
        let session = try server.session()
        session.standardInput = into
        session.standardOutput = out
        try session.run()
        input = into.fileHandleForWriting
        let taking = "DO $$ BEGIN \(statement) END $$;\nSELECT pg_backend_pid();"
        try input.write(contentsOf: Data("SET lock_timeout = '60s';\nBEGIN;\n\(taking)\n".utf8))
        var answer = Data()
        while !answer.contains(UInt8(ascii: "\n")) {
            let more = out.fileHandleForReading.availableData
            guard !more.isEmpty else { throw PostgresServer.Failure(description: "The lock can't be taken.") }
            answer += more
        }
        holder = String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Releases the lock.
    public func release() throws {
        // Not only closed: another process may have inherited the pipe.
        try input.write(contentsOf: Data("ROLLBACK;\n\\q\n".utf8))
        try input.close()
    }
}
