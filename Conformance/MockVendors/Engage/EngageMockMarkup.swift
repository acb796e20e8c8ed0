import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// An element of an XML document.
struct EngageNode: Sendable, Hashable {
    /// The name as written; the vendor is case-sensitive.
    var name: String
    /// The attributes.
    var attributes: [String: String] = [:]
    /// The text directly inside, untrimmed.
    var text = ""
    /// The elements inside, in order.
    var children: [EngageNode] = []

    /// The first child with a name.
    func child(_ name: String) -> EngageNode? { children.first { $0.name == name } }
    /// All children with a name.
    func all(_ name: String) -> [EngageNode] { children.filter { $0.name == name } }
    /// The trimmed text of a child; `nil` if there is no such child.
    func value(_ name: String) -> String? {
        child(name)?.text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// A strict XML parser: one closed root, no document type, at most 32 levels.
enum EngageMarkup {
    static func parse(_ text: String) -> EngageNode? {
        // Entities can only be declared in a document type, which no client of this vendor sends. It can only appear
        // before the root.
        var prolog = text[...]
        while let tag = prolog.firstIndex(of: "<"),
            let next = prolog.index(tag, offsetBy: 1, limitedBy: prolog.endIndex),
            next < prolog.endIndex, !prolog[next].isLetter
        {
            guard prolog[next...].hasPrefix("?") || prolog[next...].hasPrefix("!--") else { return nil }
            prolog = prolog[next...]
        }
        let builder = Builder()
        let parser = XMLParser(data: Data(text.utf8))
        parser.shouldResolveExternalEntities = false
        parser.delegate = builder
        // `parse()` also returns true for truncated documents; only the error and the level count reveal them.
        guard parser.parse(), parser.parserError == nil, !builder.isBroken, builder.open.isEmpty else { return nil }
        return builder.root
    }

    private final class Builder: NSObject, XMLParserDelegate {
        var open: [EngageNode] = []
        var root: EngageNode?
        var isBroken = false

        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String] = [:]
        ) {
            if open.count >= 32 || (open.isEmpty && root != nil) {
                isBroken = true
                parser.abortParsing()
                return
            }
            open.append(EngageNode(name: name, attributes: attributes))
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            guard !open.isEmpty else { return }
            open[open.count - 1].text += text
        }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            guard !open.isEmpty else { return }
            open[open.count - 1].text += String(decoding: block, as: UTF8.self)
        }

        func parser(
            _ parser: XMLParser,
            didEndElement name: String,
            namespaceURI: String?,
            qualifiedName: String?
        ) {
            guard let done = open.popLast() else { return }
            if open.isEmpty { root = done } else { open[open.count - 1].children.append(done) }
        }

        func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) { isBroken = true }
    }

    /// Escapes a text for an element or an attribute.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\r": result += "&#13;"
            case "\n": result += "&#10;"
            case "\t": result += "&#9;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    /// Writes `<name>text</name>`, and `<name/>` for an empty text.
    static func element(_ name: String, _ text: String) -> String {
        text.isEmpty ? "<\(name)/>" : "<\(name)>\(escaped(text))</\(name)>"
    }
}
