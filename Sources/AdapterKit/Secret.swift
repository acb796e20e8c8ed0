/// A key, a token or a password that stays hidden when printed, dumped, logged or compared.
///
/// ```swift
/// let key: Secret = "s3cret"
/// print(key)           // <secret>
/// send(key.reveal())   // the only way to the text
/// ```
public struct Secret: Sendable, Hashable {
    private let text: String

    /// Wraps a string.
    public init(_ text: String) { self.text = text }

    /// Returns the string, for use in a request and nowhere else.
    public func reveal() -> String { text }

    /// Whether the string is empty.
    public var isEmpty: Bool { text.isEmpty }
}

extension Secret: ExpressibleByStringLiteral {
    /// Wraps a literal; for tests and examples.
    public init(stringLiteral value: String) { self.init(value) }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The word `<secret>`.
    public var description: String { "<secret>" }
    /// The word `<secret>`.
    public var debugDescription: String { description }
    /// A mirror that shows nothing, so that `dump` finds nothing.
    public var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
