/// A flag's key with the type and the default that all its reads share.
///
/// Written by hand, or by the plug-in `GenerateFlagKeys` from a manifest:
///
/// ```swift
/// enum Flags {
///     static let checkoutColor = FlagKey("checkoutColor", default: "red")
/// }
/// let color = session[Flags.checkoutColor]
/// ```
///
/// A misspelled key or a wrong type doesn't compile. The key is hashed once, when it is created, so keep it: a stored
/// constant reads faster than a key created for each read.
public struct FlagKey<Value: Sendable>: Sendable {
    /// The flag's key, as in the vendor's console.
    public let key: String
    /// The value that reads return if the vendor gives none of this type.
    public let defaultValue: Value
    let hash: UInt32

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - key: The flag's key, as in the vendor's console.
    ///   - defaultValue: The value that reads return if the vendor gives none of this type.
    public init(_ key: String, default defaultValue: Value) {
        self.key = key
        self.defaultValue = defaultValue
        hash = FlagCatalogue.hash(key)
    }
}
