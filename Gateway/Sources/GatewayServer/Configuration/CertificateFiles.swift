import Experimentation
import Foundation
import NIOSSL

/// Where the gateway's certificate and its private key are.
public struct CertificateFiles: Sendable, Hashable {
    /// The certificate in PEM, with the intermediate certificates between it and the root.
    public var certificate: URL
    /// The private key in PEM.
    public var key: URL

    /// Creates a pair of files.
    public init(certificate: URL, key: URL) {
        self.certificate = certificate
        self.key = key
    }

    /// Reads both files.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file.
    func context() throws(ExperimentationError) -> NIOSSLContext {
        let chain: [NIOSSLCertificateSource]
        do { chain = try NIOSSLCertificate.fromPEMFile(certificate.path).map { .certificate($0) } } catch {
            throw Self.error(certificate, "expected certificates in PEM", error)
        }
        let secret: NIOSSLPrivateKey
        do { secret = try NIOSSLPrivateKey(file: key.path, format: .pem) } catch {
            throw Self.error(key, "expected a private key in PEM, without a password", error)
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain,
            privateKey: .privateKey(secret)
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        do { return try NIOSSLContext(configuration: configuration) } catch {
            throw Self.error(certificate, "it doesn't belong to the key in \(key.path)", error)
        }
    }

    private static func error(_ file: URL, _ problem: String, _ cause: any Error) -> ExperimentationError {
        ExperimentationError(.configuration, "\(file.path): \(problem)", cause: cause)
    }
}
