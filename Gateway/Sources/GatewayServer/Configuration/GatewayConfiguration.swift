import Experimentation
import Logging
import VendorCatalog

/// The gateway's address, tenants and limits.
public struct GatewayConfiguration: Sendable {
    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port; 0 for any free one.
    public var port = 0
    /// The certificate with which connections are encrypted; `nil` to leave that to a proxy.
    public var certificate: CertificateFiles?
    /// The limits of a connection.
    public var limits = ConnectionLimits()
    /// The origins allowed to call from browsers; `*` for all.
    public var origins: [String] = []
    /// How long to keep serving after the termination signal, so that a load balancer notices the failing `/ready`.
    ///
    /// Choose a time longer than the interval at which the load balancer asks.
    public var drain = Duration.seconds(5)
    /// How long the shutdown may take after that, before remaining requests are cut off.
    public var patience = Duration.seconds(30)
    /// The tokens that give access to metrics and the console.
    public var operatorTokens: [TokenDigest] = []
    /// The lowest level that a program logs.
    public var logLevel = Logger.Level.warning
    /// The tenants; each token belongs to one of them.
    public var tenants: [TenantConfiguration]

    /// Creates a configuration with defaults.
    ///
    /// - Parameter tenants: The tenants.
    public init(tenants: [TenantConfiguration]) { self.tenants = tenants }
}

extension TenantConfiguration {
    /// Creates the tenant's provider.
    ///
    /// - Parameter variables: The environment variables that secrets may refer to.
    /// - Returns: A provider that hasn't been started.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    func provider(variables: [String: String]) throws(ExperimentationError) -> any ExperimentationProvider {
        if let move { return try move.provider(variables: variables) }
        return try VendorCatalog.provider(from: vendor, file: vendorFile, environment: variables)
    }
}
