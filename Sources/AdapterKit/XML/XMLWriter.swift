import Experimentation

/// Writes XML in which a value can never become markup.
public enum XMLWriter {
    /// Writes a document, without white space between its elements.
    ///
    /// - Parameters:
    ///   - root: The root.
    ///   - declaration: Whether to begin with `<?xml version="1.0" encoding="UTF-8"?>`.
    /// - Returns: The document in UTF-8.
    /// - Throws: `ErrorCode.invalidArgument` for an invalid name, a character that XML can't represent, and
    ///   nesting deeper than ``XMLReader/deepest``.
    public static func write(_ root: XMLTree, declaration: Bool = true) throws(ExperimentationError) -> [UInt8] {
        var text = declaration ? #"<?xml version="1.0" encoding="UTF-8"?>"# : ""
        var steps: [Step] = [.element(root)]
        var depth = 0
        while let step = steps.popLast() {
            switch step {
            case .end(let name):
                text += "</\(name)>"
                depth -= 1
            case .element(let element):
                try begin(element, into: &text)
                guard !element.text.isEmpty || !element.children.isEmpty else {
                    text += "/>"
                    continue
                }
                depth += 1
                guard depth <= XMLReader.deepest else {
                    throw ExperimentationError(
                        .invalidArgument,
                        "more than \(XMLReader.deepest) elements in one another"
                    )
                }
                text += ">"
                text += try element.usesCDATA ? XMLEscaping.section(element.text) : XMLEscaping.text(element.text)
                steps.append(.end(element.name))
                steps.append(contentsOf: element.children.reversed().map(Step.element))
            }
        }
        return Array(text.utf8)
    }

    private enum Step {
        case element(XMLTree)
        case end(String)
    }

    private static func begin(_ element: XMLTree, into text: inout String) throws(ExperimentationError) {
        text += try "<" + XMLEscaping.name(element.name)
        var names: Set<ExactText> = []
        for attribute in element.attributes {
            guard names.insert(ExactText(attribute.name)).inserted else {
                throw ExperimentationError(.invalidArgument, "an attribute that appears twice")
            }
            text += try " \(XMLEscaping.name(attribute.name))=\"\(XMLEscaping.attribute(attribute.value))\""
        }
    }
}

/// The parts of writing XML, for an adapter that assembles a document itself.
public enum XMLEscaping {
    /// Escapes text between tags.
    ///
    /// - Throws: `ErrorCode.invalidArgument` for a character that XML can't represent.
    public static func text(_ value: String) throws(ExperimentationError) -> String {
        try escaped(value, isAttribute: false)
    }

    /// Escapes a value between double quotes.
    ///
    /// - Throws: `ErrorCode.invalidArgument` for a character that XML can't represent.
    public static func attribute(_ value: String) throws(ExperimentationError) -> String {
        try escaped(value, isAttribute: true)
    }

    /// Writes text as a CDATA section, or as two if it contains the section's end mark.
    ///
    /// A carriage return can't be kept inside a section, so it is written between two.
    ///
    /// - Throws: `ErrorCode.invalidArgument` for a character that XML can't represent.
    public static func section(_ value: String) throws(ExperimentationError) -> String {
        try check(value)
        guard !value.isEmpty else { return "" }
        let split = value.unicodeScalars.reduce(into: "") { built, scalar in
            if scalar == ">", built.hasSuffix("]]") {
                built += "]]><![CDATA[>"
            } else if scalar == "\r" {
                built += "]]>&#13;<![CDATA["
            } else {
                built.unicodeScalars.append(scalar)
            }
        }
        return "<![CDATA[\(split)]]>"
    }

    /// Returns a name if it is valid.
    ///
    /// - Throws: `ErrorCode.invalidArgument` if it isn't.
    public static func name(_ value: String) throws(ExperimentationError) -> String {
        guard XMLCharacters.isName(value) else {
            throw ExperimentationError(.invalidArgument, "a name that XML doesn't allow")
        }
        return value
    }

    private static func escaped(_ value: String, isAttribute: Bool) throws(ExperimentationError) -> String {
        try check(value)
        var built = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "&": built.append(contentsOf: "&amp;".unicodeScalars)
            case "<": built.append(contentsOf: "&lt;".unicodeScalars)
            case ">": built.append(contentsOf: "&gt;".unicodeScalars)
            case "\"" where isAttribute: built.append(contentsOf: "&quot;".unicodeScalars)
            // Readers turn a bare carriage return into a line feed, and white space in an attribute into a space.
            case "\r": built.append(contentsOf: "&#13;".unicodeScalars)
            case "\n" where isAttribute: built.append(contentsOf: "&#10;".unicodeScalars)
            case "\t" where isAttribute: built.append(contentsOf: "&#9;".unicodeScalars)
            default: built.append(scalar)
            }
        }
        return String(built)
    }

    private static func check(_ value: String) throws(ExperimentationError) {
        guard let illegal = value.unicodeScalars.first(where: { !XMLCharacters.isAllowed($0) }) else { return }
        let code = String(illegal.value, radix: 16, uppercase: true)
        throw ExperimentationError(.invalidArgument, "XML can't hold the character U+\(code)")
    }
}
