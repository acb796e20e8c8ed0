extension Destination {
    /// Creates a destination that a store has written down.
    ///
    /// - Parameters:
    ///   - provider: The provider's name.
    ///   - digest: The digest of its account.
    @_spi(StoredForm) public init(provider: String, digest: String) {
        self.init(provider: provider, account: digest)
    }
}
