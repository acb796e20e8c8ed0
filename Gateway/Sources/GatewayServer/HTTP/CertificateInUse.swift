import Experimentation
import NIOSSL
import Synchronization

/// The certificate in use, which can be replaced while connections are open.
final class CertificateInUse: Sendable {
    private let state: Mutex<NIOSSLContext>

    /// Reads a certificate.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file.
    init(_ files: CertificateFiles) throws(ExperimentationError) { state = Mutex(try files.context()) }

    /// Replaces the certificate for new connections.
    func use(_ context: NIOSSLContext) { state.withLock { $0 = context } }

    /// Makes a connection's handler.
    func handler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: state.withLock { $0 }) }
}
