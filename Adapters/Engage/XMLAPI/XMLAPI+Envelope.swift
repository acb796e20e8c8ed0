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
        var writer = EnvelopeWriter(capacity: estimatedSize)
        writer.write("<Envelope><Body><")
        writer.write(operation.rawValue)
        writer.write(">")
        for field in parameters.all {
            writer.write("<")
            writer.write(field.name)
            writer.write(">")
            writer.escape(field.value)
            writer.write("</")
            writer.write(field.name)
            writer.write(">")
        }
        for field in columns.all {
            writer.write("<COLUMN><NAME>")
            writer.escape(field.name)
            writer.write("</NAME><VALUE>")
            writer.escape(field.value)
            writer.write("</VALUE></COLUMN>")
        }
        if let rows {
            writer.write("<ROWS>")
            for row in rows {
                writer.write("<ROW>")
                for field in row.all {
                    writer.write("<COLUMN name=\"")
                    writer.escapeAttribute(field.name)
                    writer.write("\"><![CDATA[")
                    writer.escapeSection(field.value)
                    writer.write("]]></COLUMN>")
                }
                writer.write("</ROW>")
            }
            writer.write("</ROWS>")
        }
        if !syncFields.isEmpty {
            writer.write("<SYNC_FIELDS>")
            for field in syncFields.all {
                writer.write("<SYNC_FIELD><NAME>")
                writer.escape(field.name)
                writer.write("</NAME><VALUE>")
                writer.escape(field.value)
                writer.write("</VALUE></SYNC_FIELD>")
            }
            writer.write("</SYNC_FIELDS>")
        }
        writer.write("</")
        writer.write(operation.rawValue)
        writer.write("></Body></Envelope>")
        return writer.text
    }

    private var estimatedSize: Int {
        func size(_ fields: XMLAPIFields, _ around: Int) -> Int {
            fields.all.reduce(0) { $0 + $1.name.utf8.count * 2 + $1.value.utf8.count + around }
        }
        return 128 + size(parameters, 8) + size(columns, 48) + size(syncFields, 56)
            + (rows ?? []).reduce(0) { $0 + size($1, 40) + 16 }
    }

    /// Element names can't be escaped, so invalid ones are refused.
    private static func checkName(_ name: String, _ kind: String) throws(ExperimentationError) {
        var isFirst = true
        for byte in name.utf8 {
            let isLetter = (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte == 0x5F
            let isOther = byte >= 0x30 && byte <= 0x39 || byte == 0x2D || byte == 0x2E
            guard isLetter || (isOther && !isFirst) else {
                throw ExperimentationError(.invalidArgument, "the name of a \(kind) can't be an element's name")
            }
            isFirst = false
        }
        guard !isFirst else { throw ExperimentationError(.invalidArgument, "the name of a \(kind) is empty") }
    }
}

/// Collects the bytes of a document.
struct EnvelopeWriter {
    private var bytes: [UInt8] = []

    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Writes a string unchanged.
    mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes a string between two tags.
    mutating func escape(_ text: String) {
        append(text) { byte, bytes in
            switch byte {
            case 0x26: bytes.append(contentsOf: "&amp;".utf8)
            case 0x3C: bytes.append(contentsOf: "&lt;".utf8)
            case 0x3E: bytes.append(contentsOf: "&gt;".utf8)
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case 0x09, 0x0A, 0x20...: bytes.append(byte)
            default: break
            }
        }
    }

    /// Writes a string between quotes; a reader would turn bare line breaks and tabs into spaces.
    mutating func escapeAttribute(_ text: String) {
        append(text) { byte, bytes in
            switch byte {
            case 0x26: bytes.append(contentsOf: "&amp;".utf8)
            case 0x3C: bytes.append(contentsOf: "&lt;".utf8)
            case 0x3E: bytes.append(contentsOf: "&gt;".utf8)
            case 0x22: bytes.append(contentsOf: "&quot;".utf8)
            case 0x09: bytes.append(contentsOf: "&#9;".utf8)
            case 0x0A: bytes.append(contentsOf: "&#10;".utf8)
            case 0x0D: bytes.append(contentsOf: "&#13;".utf8)
            case 0x20...: bytes.append(byte)
            default: break
            }
        }
    }

    /// Writes a string into a CDATA section, which is interrupted where the string would end it.
    mutating func escapeSection(_ text: String) {
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
