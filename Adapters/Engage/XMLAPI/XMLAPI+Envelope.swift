import Experimentation

extension XMLAPI {
    /// Returns the document for the wire: no declaration, no white space, equal calls giving equal bytes.
    ///
    /// Values are escaped. Carriage returns are written as references, because XML readers turn bare ones into line
    /// feeds; characters that XML 1.0 can't represent are left out.
    ///
    /// - Throws: `ErrorCode.invalidArgument` if the operation or a parameter has a name that isn't valid for an
    ///   element.
    public func envelope() throws(ExperimentationError) -> String {
        try Self.checkName(operation.rawValue, "operation")
        for field in parameters.all { try Self.checkName(field.name, "parameter") }
        var writer = EnvelopeWriter()
        writer.element("Envelope") { writer in
            writer.element("Body") { writer in writer.element(operation.rawValue, content) }
        }
        return writer.text
    }

    private func content(_ writer: inout EnvelopeWriter) {
        for field in parameters.all { writer.element(field.name, field.value) }
        for field in columns.all { writer.pair("COLUMN", field) }
        if let rows {
            writer.element("ROWS") { writer in
                for row in rows { writer.row(row) }
            }
        }
        guard !syncFields.isEmpty else { return }
        writer.element("SYNC_FIELDS") { writer in
            for field in syncFields.all { writer.pair("SYNC_FIELD", field) }
        }
    }

    /// Element names can't be escaped, so invalid ones are refused.
    private static func checkName(_ name: String, _ kind: String) throws(ExperimentationError) {
        guard !name.isEmpty else { throw ExperimentationError(.invalidArgument, "the name of a \(kind) is empty") }
        let isValid = name.utf8.enumerated().allSatisfy { place, byte in
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x5F: true
            case 0x30...0x39, 0x2D, 0x2E: place > 0
            default: false
            }
        }
        guard isValid else {
            throw ExperimentationError(.invalidArgument, "the name of a \(kind) can't be an element's name")
        }
    }
}

/// Collects the bytes of a document.
struct EnvelopeWriter {
    private var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes an element.
    mutating func element(_ name: String, _ content: (inout EnvelopeWriter) -> Void) {
        write("<")
        write(name)
        write(">")
        content(&self)
        write("</")
        write(name)
        write(">")
    }

    /// Writes an element with a text.
    mutating func element(_ name: String, _ text: String) {
        element(name) { $0.escape(text) }
    }

    /// Writes an element with a name and a value.
    mutating func pair(_ name: String, _ field: XMLAPIFields.Field) {
        element(name) { writer in
            writer.element("NAME", field.name)
            writer.element("VALUE", field.value)
        }
    }

    /// Writes a row of a table.
    mutating func row(_ fields: XMLAPIFields) {
        element("ROW") { writer in
            for field in fields.all {
                writer.write("<COLUMN name=\"")
                writer.escape(field.name, isAttribute: true)
                writer.write("\"><![CDATA[")
                writer.escapeSection(field.value)
                writer.write("]]></COLUMN>")
            }
        }
    }

    private mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes a string between two tags or, in an attribute, quotes, where a reader would turn bare line breaks and tabs
    /// into spaces.
    private mutating func escape(_ text: String, isAttribute: Bool = false) {
        append(text) { byte, bytes in
            switch byte {
            case 0x26: bytes.append(contentsOf: "&amp;".utf8)
            case 0x3C: bytes.append(contentsOf: "&lt;".utf8)
            case 0x3E: bytes.append(contentsOf: "&gt;".utf8)
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case 0x22 where isAttribute: bytes.append(contentsOf: "&quot;".utf8)
            case 0x09 where isAttribute: bytes.append(contentsOf: "&#9;".utf8)
            case 0x0A where isAttribute: bytes.append(contentsOf: "&#10;".utf8)
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            default: break
            }
        }
    }

    /// Writes a string into a CDATA section, which is interrupted where the string would end it.
    private mutating func escapeSection(_ text: String) {
        var brackets = 0
        append(text) { byte, bytes in
            switch byte {
            case 0x3E where brackets >= 2: bytes.append(contentsOf: "]]><![CDATA[>".utf8)
            case 0x0D: bytes.append(contentsOf: "]]>&#13;<![CDATA[".utf8)
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            // Omitted characters separate nothing: the brackets before them still count.
            default: return
            }
            brackets = byte == 0x5D ? brackets + 1 : 0
        }
    }

    /// Visits the bytes of a string, without U+FFFE and U+FFFF, which XML can't represent.
    ///
    /// They are `EF BF BE` and `EF BF BF`; nothing else begins and ends like them.
    private mutating func append(_ text: String, _ each: (UInt8, inout [UInt8]) -> Void) {
        var text = text
        text.withUTF8 { utf8 in
            var index = 0
            while index < utf8.count {
                let byte = utf8[index]
                if byte == 0xEF, index + 2 < utf8.count, utf8[index + 1] == 0xBF, utf8[index + 2] >= 0xBE {
                    index += 3
                    continue
                }
                each(byte, &bytes)
                index += 1
            }
        }
    }
}
