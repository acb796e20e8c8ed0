/// Where events go: one account of one vendor.
///
/// Each destination has its own order, attempts, pauses and ledger in a store; the failures of one don't affect
/// another. A provider has one, named after it and a digest of its scope.
public struct Destination: Sendable, Hashable, Codable {
    /// The provider's name.
    public let provider: String
    /// A digest that identifies the account; never the account itself.
    public let account: String

    /// Creates the destination of a provider's account.
    ///
    /// - Parameters:
    ///   - provider: The provider's name.
    ///   - scope: The provider's scope; only a digest of it is kept.
    public init(provider: String, scope: String) {
        self.provider = provider
        account = Digest.hex(provider, scope)
    }

    /// Creates a destination that a store has recorded.
    package init(provider: String, account: String) {
        self.provider = provider
        self.account = account
    }
}

extension Destination: CustomStringConvertible {
    /// The provider's name, with the beginning of the account's digest.
    public var description: String { "\(provider)/\(account.prefix(8))" }
}
