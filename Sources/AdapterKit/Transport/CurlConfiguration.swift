#if os(Linux)
    /// Settings of a ``CurlTransport``.
    public struct CurlConfiguration: Sendable, Hashable {
        /// The maximum number of simultaneous connections to one host; further requests wait for a free one.
        ///
        /// From 16 on, each of the engine's two threads has half of them.
        public var connectionsPerHost: Int
        /// Whether to use the proxies named by environment variables.
        public var usesEnvironmentProxies: Bool
        /// A file of certificate authorities (PEM) to trust instead of the system's; `nil` for the system's.
        public var certificateAuthorities: String?

        /// Creates a configuration.
        public init(
            connectionsPerHost: Int = 64,
            usesEnvironmentProxies: Bool = false,
            certificateAuthorities: String? = nil
        ) {
            self.connectionsPerHost = connectionsPerHost
            self.usesEnvironmentProxies = usesEnvironmentProxies
            self.certificateAuthorities = certificateAuthorities
        }
    }
#endif
