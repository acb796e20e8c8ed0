/// An XML element: its name, its attributes, its own text, and its child elements.
///
/// Text and elements are kept apart, as in the vendors' protocols; in mixed content the order between the two is lost.
public struct XMLTree: Sendable, Hashable {
    /// The name as written, with its prefix if it has one.
    public var name: String
    /// The attributes in order, with decoded values.
    public var attributes: [Attribute]
    /// The text directly in the element, decoded and concatenated.
    public var text: String
    /// The child elements, in order.
    public var children: [XMLTree]

    /// A name with its value.
    public struct Attribute: Sendable, Hashable {
        /// The name as written, with its prefix if it has one.
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
        children: [XMLTree] = []
    ) {
        self.name = name
        self.attributes = attributes
        self.text = text
        self.children = children
    }

    /// The name without its prefix.
    public var localName: String { name.split(separator: ":").last.map(String.init) ?? name }

    /// The text without surrounding white space.
    public var trimmedText: String {
        guard let first = text.utf8.first, let last = text.utf8.last else { return "" }
        // Most texts have no such white space, and looking at scalars takes longer than reading them.
        if 0x21..<0x80 ~= first, 0x21..<0x80 ~= last { return text }
        var part = text.unicodeScalars[...]
        while let first = part.first, first.properties.isWhitespace { part.removeFirst() }
        while let last = part.last, last.properties.isWhitespace { part.removeLast() }
        return String(part)
    }

    /// The first child with a name, ignoring prefixes.
    public subscript(_ name: String) -> XMLTree? { children.first { $0.localName == name } }

    /// The children with a name, ignoring prefixes.
    public func all(_ name: String) -> [XMLTree] { children.filter { $0.localName == name } }

    /// The element at a path of names, taking the first at each step.
    public func at(_ path: String...) -> XMLTree? {
        path.reduce(Optional(self)) { element, name in element?[name] }
    }

    /// The value of an attribute.
    public func attribute(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
}
