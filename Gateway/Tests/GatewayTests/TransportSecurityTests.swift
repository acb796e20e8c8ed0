import Experimentation
import Foundation
import GatewayWaiting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import GatewayServer

/// TLS in the process, with certificates that `openssl` makes for the test.
@Suite("TLS")
struct TransportSecurityTests {
    private static let path = "/ofrep/v1/evaluate/flags"
    private static let ada = #"{"context":{"targetingKey":"ada"}}"#

    /// A folder with a key and a certificate that it signed itself.
    private static func files(_ name: String = "localhost") async throws -> CertificateFiles {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let files = CertificateFiles(
            certificate: folder.appendingPathComponent("certificate.pem"),
            key: folder.appendingPathComponent("key.pem")
        )
        let status = try await ownThread {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days",
                "2",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)", "-keyout", files.key.path, "-out",
                files.certificate.path,
            ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            return process.terminationStatus
        }
        try #require(status == 0)
        return files
    }

    /// Makes one request over TLS, trusting one certificate alone.
    private static func ask(_ port: Int, trusting certificate: URL) async throws -> WireAnswer {
        let name = "localhost"
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(certificate.path)
        let context = try NIOSSLContext(configuration: configuration)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        try NIOSSLClientHandler(context: context, serverHostname: name)
                    )
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            let head =
                "POST \(path)/text HTTP/1.1\r\nHost: \(name)\r\nAuthorization: Bearer t0ken\r\nConnection: close\r\n"
                + "Content-Length: \(ada.utf8.count)\r\n\r\n"
            try await outbound.write(ByteBuffer(string: head + ada))
            var text = ""
            do { for try await part in inbound { text += String(buffer: part) } } catch NIOSSLError.uncleanShutdown {}
            return WireAnswer(text)
        }
    }

    @Test("connections use the configured certificate, and new ones the reloaded certificate")
    func served() async throws {
        let (first, second) = (try await Self.files(), try await Self.files())
        try await Served.run {
            $0.certificate = first
        } body: { served in
            let answer = try await Self.ask(served.wire.port, trusting: first.certificate)
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""value":"green""#))
            // Without TLS nothing is answered, least of all whether a token is valid.
            let plain = try await served.wire.post("\(Self.path)/text", Self.ada)
            #expect(plain == WireAnswer(""))
            await #expect(throws: (any Error).self) {
                _ = try await Self.ask(served.wire.port, trusting: second.certificate)
            }
            var configuration = served.gateway.configuration
            configuration.certificate = second
            try await served.gateway.reload(configuration)
            let renewed = try await Self.ask(served.wire.port, trusting: second.certificate)
            #expect(renewed.status == 200)
            // Files that can't be used change nothing.
            configuration.certificate?.key = first.key
            await #expect(throws: ExperimentationError.self) { try await served.gateway.reload(configuration) }
            let still = try await Self.ask(served.wire.port, trusting: second.certificate)
            #expect(still.status == 200)
            // Nor do tenants that can't be opened, even with usable certificate files.
            configuration = served.gateway.configuration
            configuration.certificate = first
            configuration.tenants[0].store = .file(URL(fileURLWithPath: "/dev/null/store.sqlite"))
            await #expect(throws: ExperimentationError.self) { try await served.gateway.reload(configuration) }
            let unchanged = try await Self.ask(served.wire.port, trusting: second.certificate)
            #expect(unchanged.status == 200)
        }
    }

    @Test("a certificate that is added or removed needs a restart, and the log says so", arguments: [true, false])
    func needsRestart(isAdded: Bool) async throws {
        let files = try await Self.files()
        try await Served.run {
            $0.certificate = isAdded ? nil : files
        } body: { served in
            var configuration = served.gateway.configuration
            configuration.certificate = isAdded ? files : nil
            try await served.gateway.reload(configuration)
            let state = served.gateway.messages.messages.map(\.entry)
            #expect(state.map(\.event) == ["certificate.restart"])
        }
    }

    @Test("a client that never starts the TLS handshake is disconnected")
    func silent() async throws {
        let files = try await Self.files()
        try await Served.run {
            $0.certificate = files
            $0.limits.idleTime = .seconds(2)
        } body: { served in
            // If the gateway didn't close the connection, this would wait forever.
            let text = try await served.wire.talk("")
            #expect(text == "")
        }
    }

    @Test("a missing or invalid certificate file is named in the error")
    func wrong() async throws {
        let (files, others) = (try await Self.files(), try await Self.files())
        let nowhere = URL(fileURLWithPath: "/nowhere.pem")
        for (wrong, named) in [
            (CertificateFiles(certificate: nowhere, key: files.key), nowhere),
            (CertificateFiles(certificate: files.certificate, key: nowhere), nowhere),
            (CertificateFiles(certificate: files.key, key: files.key), files.key),
            (CertificateFiles(certificate: files.certificate, key: others.key), files.certificate),
        ] {
            let error = #expect(throws: ExperimentationError.self) { _ = try wrong.context() }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains(named.path) == true, "\(error?.message ?? "")")
        }
    }
}
