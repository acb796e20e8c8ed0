import Foundation

/// A real PostgreSQL server of a test run's own: Debian's programs, a new folder, a socket in it, no port.
///
/// It ends with this process, however that ends: its watcher reads from a pipe that only this process holds.
public final class PostgresServer: Sendable {
    /// Why there is no server; a test fails for it and is never left out.
    public struct Failure: Error, CustomStringConvertible {
        /// What went wrong.
        public let description: String
    }

    private let folder: URL
    private let life: FileHandle

    /// The server's folder for sockets.
    public var sockets: String { folder.path }

    /// How clients reach a database over the socket.
    public var url: String {
        "postgresql:///postgres?host=\(sockets)&user=postgres" + (port == 0 ? "" : "&port=\(port)")
    }

    /// The one server of this process.
    public static var shared: PostgresServer { get throws { try one.get() } }
    private static let one = Result { try PostgresServer() }

    /// Leaves the disk alone: everything is in the system's memory, which outlives the server's processes.
    private static let hasty = [
        "fsync = off", "full_page_writes = off", "wal_init_zero = off", "checkpoint_timeout = 1h",
        "max_wal_size = 8GB", "shared_buffers = 128MB",
    ]

    /// The port on loopback, if it has a certificate; otherwise 0.
    public let port: Int

    /// A certificate that signed itself, and its key.
    public struct Certificate: Sendable {
        /// The certificate's file, which is also what a client trusts.
        public let path: String
        fileprivate let key: String

        /// Creates a certificate for `localhost`.
        ///
        /// - Parameter folder: Where to.
        /// - Throws: ``Failure``.
        public init(in folder: URL) throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            (path, key) = (folder.appendingPathComponent("c.pem").path, folder.appendingPathComponent("k.pem").path)
            try PostgresServer.run(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
                    + "-addext subjectAltName=DNS:localhost -keyout '\(key)' -out '\(path)'"
            )
        }
    }

    /// Creates a cluster and starts it.
    ///
    /// - Parameters:
    ///   - settings: More lines of its configuration.
    ///   - certificate: The certificate for listening on loopback; `nil` for its socket alone.
    ///   - isDurable: Whether it survives a power cut, which no test needs: a killed server loses nothing anyway.
    /// - Throws: ``Failure``.
    public init(settings: [String] = [], certificate: Certificate? = nil, isDurable: Bool = false) throws {
        let programs = try Self.programs()
        port = certificate == nil ? 0 : Int.random(in: 20_000..<32_000)
        // Short, because a socket's path can't be long; outside of folders that another user may not enter.
        folder = URL(fileURLWithPath: "/tmp/pg-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let data = folder.appendingPathComponent("data").path
        let owner = getuid() == 0 ? "runuser -u postgres -- " : ""
        if getuid() == 0 { try Self.run("chown postgres: '\(folder.path)'") }
        try Self.run(
            "\(owner)'\(programs)/initdb' -D '\(data)' -U postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 --no-sync"
        )
        var settings = settings
        if let certificate {
            try Self.run(
                "cp '\(certificate.path)' '\(data)/server.crt' && cp '\(certificate.key)' '\(data)/server.key'"
            )
            try Self.run("chmod 600 '\(data)/server.key'")
            if getuid() == 0 { try Self.run("chown postgres: '\(data)/server.crt' '\(data)/server.key'") }
            settings += ["ssl = on", "listen_addresses = 'localhost'", "port = \(port)"]
        }
        let lines =
            [
                "listen_addresses = ''", "unix_socket_directories = '\(folder.path)'", "max_connections = 1000",
                "autovacuum_naptime = 5s",
            ] + (isDurable ? ["shared_buffers = 64MB"] : Self.hasty) + settings
        try Self.run(
            "cat >> '\(data)/postgresql.conf'",
            input: lines.map { $0 + "\n" }.joined()
        )
        let pipe = Pipe()
        let watch = Process()
        watch.executableURL = URL(fileURLWithPath: "/bin/sh")
        watch.arguments = [
            "-c",
            """
            \(owner)'\(programs)/pg_ctl' -D '\(data)' -l '\(data)/log' -w -t 60 start >/dev/null 2>&1 </dev/null
            echo started
            cat >/dev/null
            \(owner)'\(programs)/pg_ctl' -D '\(data)' -m immediate stop >/dev/null 2>&1
            rm -rf '\(folder.path)'
            """,
        ]
        let output = Pipe()
        watch.standardInput = pipe
        watch.standardOutput = output
        // A reader that waits for the end of this process's own output would wait for the server's as well.
        watch.standardError = FileHandle.nullDevice
        try watch.run()
        // A server that is started again by this process would keep the pipe open, and so outlive it.
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        life = pipe.fileHandleForWriting
        _ = try output.fileHandleForReading.read(upToCount: 1)
        guard FileManager.default.fileExists(atPath: "\(folder.path)/.s.PGSQL.\(port == 0 ? 5_432 : port)") else {
            throw Failure(description: "PostgreSQL didn't start: \(messages)")
        }
    }

    /// The last of what the server has logged.
    public var messages: String {
        let log = try? String(contentsOfFile: "\(folder.path)/data/log", encoding: .utf8)
        return log.map { String($0.suffix(1_000)) } ?? "no log"
    }

    /// Ends the server.
    public func stop() { try? life.close() }

    /// Pauses every process of the server, or lets them continue.
    public func pause(_ isPaused: Bool) throws {
        let pid =
            try String(contentsOfFile: "\(folder.path)/data/postmaster.pid", encoding: .utf8)
            .split(separator: "\n").first.map(String.init) ?? ""
        let signal = isPaused ? "STOP" : "CONT"
        // One of its processes may end between being listed and getting the signal.
        try Self.run(
            "kill -\(signal) \(pid) && for child in $(ps -o pid= --ppid \(pid)); do kill -\(signal) $child || true; done"
        )
    }

    /// Ends all connections, as a restart does.
    ///
    /// - Parameter isCrash: Whether the server writes nothing to disk before, and so recovers from a crash.
    /// - Throws: ``Failure``.
    public func restart(asCrash isCrash: Bool = false) async throws {
        let mode = isCrash ? "immediate" : "fast"
        let owner = getuid() == 0 ? "runuser -u postgres -- " : ""
        let command = """
            cd / && \(owner)'\(try Self.programs())/pg_ctl' -D '\(folder.path)/data' -l '\(folder.path)/data/log' -m \(mode) -w -t 300 \
            restart \
            </dev/null >/dev/null 2>&1
            """
        let status: Int32 = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.status(of: command)) }
        }
        guard status == 0 else {
            throw Failure(description: "PostgreSQL didn't start again: status \(status), \(messages)")
        }
    }

    /// Runs a command and waits for it alone: `Process` would wait for the server as well, which inherits its socket.
    private static func status(of command: String) -> Int32 {
        var pid = pid_t()
        var arguments: [UnsafeMutablePointer<CChar>?] = []
        for word in ["/bin/sh", "-c", command] { arguments.append(strdup(word)) }
        arguments.append(nil)
        defer { arguments.forEach { free($0) } }
        guard posix_spawn(&pid, "/bin/sh", nil, nil, &arguments, nil) == 0 else { return -1 }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status
    }

    /// Runs statements with the server's own client, and returns its rows.
    @discardableResult
    public func ask(_ statements: String) throws -> String {
        let programs = try Self.programs()
        return try Self.run("'\(programs)/psql' -X -A -t -q -v ON_ERROR_STOP=1 '\(url)'", input: statements)
    }

    /// The server's own client, not yet started, which ends with the first error.
    func session() throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "\(try Self.programs())/psql")
        process.arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", url]
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        return process
    }

    private static func programs() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [])
            .compactMap { Int($0) }.sorted()
        guard let version = versions.last else {
            throw Failure(description: "There is no PostgreSQL below \(root): .ci/setup gateway installs it.")
        }
        return "\(root)/\(version)/bin"
    }

    @discardableResult
    private static func run(_ command: String, input: String = "") throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command + " 2>&1"]
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        let (into, out) = (Pipe(), Pipe())
        process.standardInput = into
        process.standardOutput = out
        try process.run()
        try into.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try into.fileHandleForWriting.close()
        let text = String(decoding: try out.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: "\(command): \(text.suffix(600))") }
        return text
    }
}
