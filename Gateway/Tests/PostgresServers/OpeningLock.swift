import Foundation

/// The lock under which the tables of a schema are created or upgraded, held as by a machine that is doing so.
public final class OpeningLock: Sendable {
    private let input: FileHandle
    /// The server's process that holds the lock.
    public let holder: String

    /// Takes the lock in a session of its own.
    ///
    /// - Parameters:
    ///   - schema: The schema's name.
    ///   - server: Where it is.
    /// - Throws: ``PostgresServer/Failure``.
    public init(of schema: String, at server: PostgresServer) throws {
        let (into, out) = (Pipe(), Pipe())
        let session = try server.session()
        session.standardInput = into
        session.standardOutput = out
        try session.run()
        input = into.fileHandleForWriting
        let question = "SELECT pg_backend_pid() FROM pg_advisory_xact_lock(hashtextextended('\(schema)', 5551));"
        try input.write(contentsOf: Data("SET lock_timeout = '60s';\nBEGIN;\n\(question)\n".utf8))
        var answer = Data()
        while !answer.contains(UInt8(ascii: "\n")) {
            let more = out.fileHandleForReading.availableData
            guard !more.isEmpty else { throw PostgresServer.Failure(description: "The lock can't be taken.") }
            answer += more
        }
        holder = String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Lets go of the lock.
    public func release() throws {
        // Not only closed: another process may have inherited the pipe.
        try input.write(contentsOf: Data("ROLLBACK;\n\\q\n".utf8))
        try input.close()
    }
}
