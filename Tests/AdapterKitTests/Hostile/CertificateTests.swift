import AdapterKit
import ChildProcesses
import Experimentation
import Foundation
import HTTPTypes
import Testing

@Suite("Certificates", .enabled(if: TLSServer.isAvailable, "openssl isn't installed"))
struct CertificateTests {
    @Test(
        "P48 an untrusted certificate is a configuration error, and nothing is sent",
        arguments: Engine.allCases,
        ["self-signed", "expired", "wrong-host"]
    )
    func untrusted(engine: Engine, kind: String) async throws {
        let server = try await TLSServer.start(kind)
        defer { server.stop() }
        let transport: any HTTPTransport
        #if os(Linux)
            // With the authority trusted, only the date or the name is left to reject.
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
                limits: HTTPLimits(deadline: .seconds(60))
            )
        }
        #expect(error?.code == .configuration, "\(error?.message ?? "")")
        #expect(error.map { DeliveryVerdict.of($0) } == error.map { .stop($0) })
        #expect(!server.output.contains("POST"))
        #expect(!server.output.contains("canary"))
    }

    #if os(Linux)
        @Test("a certificate from a trusted authority is accepted")
        func trusted() async throws {
            let server = try await TLSServer.start("good")
            defer { server.stop() }
            let transport = CurlTransport(configuration: .init(certificateAuthorities: server.authority))
            var request = server.request
            request.method = .get
            let reply = try await transport.send(request, body: [], limits: HTTPLimits(deadline: .seconds(60)))
            #expect(reply.status == 200)
        }

        @Test(
            "P49 a redirect from https to http isn't followed and doesn't count as delivery",
            arguments: [301, 302, 303, 307, 308],
            [HTTPRequest.Method.get, .post]
        )
        func downgrade(status: Int, method: HTTPRequest.Method) async throws {
            let target = try RawServer { connection in
                connection.readRequest()
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            defer { target.stop() }
            let server = try await TLSServer.start(
                "good",
                answering: "HTTP/1.1 \(status) X\r\nLocation: \(target.url)/elsewhere\r\nContent-Length: 2\r\n\r\nno"
            )
            defer { server.stop() }
            let transport = CurlTransport(configuration: .init(certificateAuthorities: server.authority))
            var request = server.request
            request.method = method
            request.headerFields = [.authorization: "Bearer canary", .cookie: "canary"]
            let reply = try await transport.send(
                request,
                body: method == .post ? Array("canary".utf8) : [],
                limits: HTTPLimits(deadline: .seconds(60))
            )
            #expect(reply.status == status)
            #expect(DeliveryVerdict.of(status: reply.status) == .outage(because: .answered(status)))
            #expect(target.received.isEmpty)
        }
    #endif
}

/// `openssl s_server` with a generated certificate.
final class TLSServer: Sendable {
    static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// The file of the authority that signed the certificate.
    var authority: String { folder.appending(path: "authority.pem").path }
    private let folder: URL
    private let process: ChildProcess
    private let port: Int

    var request: HTTPRequest {
        HTTPRequest(method: .post, scheme: "https", authority: "127.0.0.1:\(port)", path: "/")
    }

    /// The server's output.
    var output: String { process.output.text + process.errors.text }

    /// Generates the certificates and starts the server.
    ///
    /// - Parameters:
    ///   - kind: What is wrong with its certificate.
    ///   - answer: What it sends to the first client, whatever the request.
    /// - Returns: The server.
    /// - Throws: The system's error.
    static func start(_ kind: String, answering answer: String = "") async throws -> TLSServer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let name = kind == "wrong-host" ? "DNS:elsewhere.example" : "IP:127.0.0.1"
        try "subjectAltName=\(name)\n".write(to: folder.appending(path: "ext"), atomically: true, encoding: .utf8)
        try await openssl(
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
        try await openssl(
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
            try await openssl(
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
            try await openssl(
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
        let options = ["-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem"]
        let process = try ChildProcess(
            openssl,
            ["s_server"] + options + (kind == "good" && answer.isEmpty ? ["-www"] : []),
            input: .textHeldOpen(answer),
            folder: folder
        )
        guard let line = await process.output.firstLine(beginning: "ACCEPT"),
            let port = line.split(separator: ":").last.flatMap({ Int($0) })
        else { throw POSIXError(.EIO) }
        return TLSServer(folder: folder, process: process, port: port)
    }

    private init(folder: URL, process: ChildProcess, port: Int) {
        self.folder = folder
        self.process = process
        self.port = port
    }

    func stop() {
        process.signal(SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    private static let openssl = URL(filePath: "/usr/bin/openssl")

    private static func openssl(in folder: URL, _ arguments: String...) async throws {
        let process = try ChildProcess(openssl, arguments, folder: folder)
        guard await process.status() == 0 else { throw POSIXError(.EIO) }
    }
}
