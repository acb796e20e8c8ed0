import AdapterKit
import Experimentation

extension XMLAPI {
    /// Returns the document for the wire: no declaration, no white space; equal calls produce equal bytes.
    ///
    /// Values are escaped. Carriage returns are written as references, because XML readers turn bare ones into line
    /// feeds; characters that XML 1.0 can't represent are left out.
    ///
    /// - Throws: `ErrorCode.invalidArgument` if the operation or a parameter has a name that isn't valid for an
    ///   element.
    public func envelope() throws(ExperimentationError) -> String {
        try Self.checkName(operation.rawValue, "operation")
        for field in parameters.all { try Self.checkName(field.name, "parameter") }
        var writer = XMLWriter()
        writer.element("Envelope") { writer in
            writer.element("Body") { writer in writer.element(operation.rawValue, content) }
        }
        return writer.document
    }

    private func content(_ writer: inout XMLWriter) {
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
        guard !XMLWriter.isName(name) else { return }
        let reason = name.isEmpty ? "is empty" : "can't be an element's name"
        throw ExperimentationError(.invalidArgument, "the name of a \(kind) \(reason)")
    }
}

extension XMLWriter {
    /// Writes an element with a name and a value.
    fileprivate mutating func pair(_ name: String, _ field: XMLAPIFields.Field) {
        element(name) { writer in
            writer.element("NAME", field.name)
            writer.element("VALUE", field.value)
        }
    }

    /// Writes a row of a table, whose columns are attributes with the values as sections.
    fileprivate mutating func row(_ fields: XMLAPIFields) {
        element("ROW") { writer in
            for field in fields.all {
                writer.element("COLUMN", attributes: [.init("name", field.name)]) { $0.section(field.value) }
            }
        }
    }
}
