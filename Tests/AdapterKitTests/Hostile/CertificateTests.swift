import AdapterKit
import Experimentation
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Certificates", .enabled(if: TLSServer.isAvailable, "openssl isn't installed"))
struct CertificateTests {
    @Test(
        "P48 a certificate that isn't trusted is a setting to mend, and nothing is sent",
        arguments: Engine.allCases,
        ["self-signed", "expired", "wrong-host"]
    )
    func untrusted(engine: Engine, kind: String) async throws {
        let server = try await TLSServer.start(kind)
        defer { server.stop() }
        let transport: any HTTPTransport
        #if os(Linux)
            // With the authority trusted, what is left to refuse is the date or the name.
            transport =
                engine == .curl && kind != "self-signed"
                ? CurlTransport(configuration: .init(certificateAuthorities: server.authority)) : engine.make()
        #else
            transport = engine.make()
        #endif
        let error = await #expect(throws: ExperimentationError.self) {
            try await transport.send(
                server.request,
                body: Array("canary".utf8),
                limits: HTTPLimits(deadline: .seconds(5))
            )
        }
        #expect(error?.code == .configuration, "\(error?.message ?? "")")
        #expect(error.map { DeliveryVerdict.of($0) } == error.map { .stop($0) })
        #expect(!server.output.contains("POST"))
        #expect(!server.output.contains("canary"))
    }

    #if os(Linux)
        @Test("a certificate of a trusted authority is trusted")
        func trusted() async throws {
            let server = try await TLSServer.start("good")
            defer { server.stop() }
            let transport = CurlTransport(configuration: .init(certificateAuthorities: server.authority))
            var request = server.request
            request.method = .get
            let reply = try await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(5)))
            #expect(reply.status == 200)
        }
    #endif
}

/// `openssl s_server` with a certificate made for the occasion.
final class TLSServer: Sendable {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    let authority: String
    private let folder: URL
    private let pid: Int32
    private let log: Log
    private let port: Int

    var request: HTTPRequest {
        HTTPRequest(method: .post, scheme: "https", authority: "127.0.0.1:\(port)", path: "/")
    }

    var output: String { log.text.withLock { $0 } }

    /// What the server says, as it says it.
    private final class Log: Sendable {
        let text = Mutex("")
        private let accepts = DispatchSemaphore(value: 0)

        init(_ handle: FileHandle) {
            Thread {
                while true {
                    let data = handle.availableData
                    let isReady = self.text.withLock { text in
                        let wasReady = self.line(in: text) != nil
                        text += String(decoding: data, as: UTF8.self)
                        return !wasReady && self.line(in: text) != nil
                    }
                    if isReady || data.isEmpty { self.accepts.signal() }
                    if data.isEmpty { return }
                }
            }.start()
        }

        /// The line that names the address, once it is whole.
        func line(in text: String) -> Substring? {
            text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first { $0.hasPrefix("ACCEPT") }
        }

        /// Waits until the server listens, or has ended.
        func port() -> Int {
            accepts.wait()
            return text.withLock { text in
                line(in: text)?.split(separator: ":").last.flatMap { Int($0) } ?? 0
            }
        }
    }

    /// Makes the certificates and starts the server.
    static func start(_ kind: String) async throws -> TLSServer {
        // Both block, so they get a thread: the tasks' few threads belong to the transport under test.
        try await withCheckedThrowingContinuation { continuation in
            Thread { continuation.resume(with: Result { try TLSServer(kind) }) }.start()
        }
    }

    private init(_ kind: String) throws {
        let process = Process()
        folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        authority = folder.appending(path: "authority.pem").path
        let name = kind == "wrong-host" ? "DNS:elsewhere.example" : "IP:127.0.0.1"
        try "subjectAltName=\(name)\n".write(to: folder.appending(path: "ext"), atomically: true, encoding: .utf8)
        try Self.openssl(
            in: folder,
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=authority",
            "-keyout",
            "authority.key",
            "-out",
            "authority.pem",
            "-days",
            "2"
        )
        try Self.openssl(
            in: folder,
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=server",
            "-keyout",
            "key.pem",
            "-out",
            "server.csr"
        )
        if kind == "expired" {
            try Self.openssl(
                in: folder,
                "x509",
                "-req",
                "-in",
                "server.csr",
                "-CA",
                "authority.pem",
                "-CAkey",
                "authority.key",
                "-CAcreateserial",
                "-extfile",
                "ext",
                "-out",
                "cert.pem",
                "-days",
                "-1"
            )
        } else {
            try Self.openssl(
                in: folder,
                "x509",
                "-req",
                "-in",
                "server.csr",
                "-CA",
                "authority.pem",
                "-CAkey",
                "authority.key",
                "-CAcreateserial",
                "-extfile",
                "ext",
                "-out",
                "cert.pem",
                "-days",
                "2"
            )
        }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.currentDirectoryURL = folder
        process.arguments = ["s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem"]
        if kind == "good" { process.arguments?.append("-www") }
        process.standardInput = Pipe()
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        log = Log(pipe.fileHandleForReading)
        try process.run()
        pid = process.processIdentifier
        port = log.port()
    }

    func stop() {
        // The child has inherited a mask that holds the gentler signals back.
        kill(pid, SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    private static func openssl(in folder: URL, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.currentDirectoryURL = folder
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw POSIXError(.EIO) }
    }
}
