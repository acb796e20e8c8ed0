/// A flag's key with the type and the default that its readers agree on.
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
/// A key that is misspelt or read as another type doesn't compile. The key is hashed once, when this is made, so keep it: a
/// stored constant reads faster than a key that is made for each read.
public struct FlagKey<Value: Sendable>: Sendable {
    /// The flag's key, as the vendor has it.
    public let key: String
    /// What readers get where the vendor gives no value of the type.
    public let defaultValue: Value
    let hash: UInt32

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - key: The flag's key, as the vendor has it.
    ///   - defaultValue: What readers get where the vendor gives no value of the type.
    public init(_ key: String, default defaultValue: Value) {
        self.key = key
        self.defaultValue = defaultValue
        hash = FlagCatalogue.hash(key)
    }
}
