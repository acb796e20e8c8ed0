import Experimentation

extension PostgresStore {
    /// Makes the machines that share this store also share a vendor's account.
    ///
    /// Rules are fetched by one machine, once per interval, and a change reaches all within a second, as does the
    /// vendor's kill switch. While the database is away, every machine continues with the rules it has, as stale.
    ///
    /// - Parameters:
    ///   - provider: The vendor.
    ///   - lease: How long a machine may take to fetch rules before another tries.
    /// - Returns: The same account, to create the client with.
    public func sharing(
        _ provider: any ExperimentationProvider,
        lease: Duration = .seconds(15)
    ) -> any ExperimentationProvider {
        SharedAccount(provider: provider, pool: pool, lease: lease) { self.watch(by: $0, over: $1) }
    }
}
