import Experimentation
import VendorCatalog

/// Where the gateway listens, whom it serves, and what it allows.
public struct GatewayConfiguration: Sendable {
    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port; any that is free if 0.
    public var port = 0
    /// What a connection may hold and how long it may take.
    public var limits = ConnectionLimits()
    /// The origins whose pages may call; `*` for all.
    public var origins: [String] = []
    /// How long to go on serving after the signal to end, so that a balancer sees that `/ready` says no.
    public var drain = Duration.zero
    /// How long the end may take after that, before what is still under way is cut.
    public var patience = Duration.seconds(30)
    /// Who may see figures and the console.
    public var operatorTokens: [TokenDigest] = []
    /// The tenants; each token is one tenant's.
    public var tenants: [TenantConfiguration]

    /// Creates a configuration with defaults.
    ///
    /// - Parameter tenants: The tenants.
    public init(tenants: [TenantConfiguration]) { self.tenants = tenants }
}

extension TenantConfiguration {
    /// Makes the tenant's vendor.
    ///
    /// - Parameter variables: The environment variables that secrets may name.
    /// - Throws: `ErrorCode.configuration`, naming file, key and what was expected.
    func provider(variables: [String: String]) throws(ExperimentationError) -> any ExperimentationProvider {
        try VendorCatalog.provider(from: vendor, file: vendorFile, environment: variables)
    }
}
