/// An XML element: its name, its attributes, the text directly in it, and the elements in it.
///
/// Text and elements are kept apart, as vendors' protocols have them; where both are mixed, the order between the two is lost.
public struct XMLTree: Sendable, Hashable {
    /// The name as it is written, with its prefix if it has one.
    public var name: String
    /// The attributes in their order, values decoded.
    public var attributes: [Attribute]
    /// The text directly in the element, decoded and put together.
    public var text: String
    /// Whether the text is written as a CDATA section; reading never sets it.
    public var usesCDATA: Bool
    /// The elements in it, in their order.
    public var children: [XMLTree]

    /// A name with its value.
    public struct Attribute: Sendable, Hashable {
        /// The name as it is written, with its prefix if it has one.
        public var name: String
        /// The value, decoded.
        public var value: String
        /// Creates an attribute.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an element.
    public init(
        _ name: String,
        attributes: [Attribute] = [],
        text: String = "",
        usesCDATA: Bool = false,
        children: [XMLTree] = []
    ) {
        self.name = name
        self.attributes = attributes
        self.text = text
        self.usesCDATA = usesCDATA
        self.children = children
    }

    /// The name without its prefix.
    public var localName: String { name.split(separator: ":").last.map(String.init) ?? name }

    /// The text without the white space around it.
    public var trimmedText: String {
        var text = text[...]
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }

    /// The first element in this one with a name, prefixes aside.
    public subscript(_ name: String) -> XMLTree? { children.first { $0.localName == name } }

    /// The elements in this one with a name, prefixes aside.
    public func all(_ name: String) -> [XMLTree] { children.filter { $0.localName == name } }

    /// The element at the end of a path of names, taking the first at each step.
    public func at(_ path: String...) -> XMLTree? {
        path.reduce(Optional(self)) { element, name in element?[name] }
    }

    /// The value of an attribute.
    public func attribute(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
}
