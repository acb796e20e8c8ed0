import AdapterKit
import Experimentation

/// An answer of the XML interface: a result, or a fault with HTTP 200.
///
/// ```swift
/// let result = try await engage.xmlapi.send(.selectRecipient(id: "100001", list: "23949"))
/// if result.isSuccess {
///     let name = result.column("Lname")
/// } else if result.errorCode == .recipientNotListMember {
///     // no such recipient
/// }
/// ```
public struct XMLAPIResult: Sendable, Hashable {
    /// The elements of `Envelope`, `Body` and every `RESULT` in one list, as in the reference.
    public let elements: [XMLAPIElement]

    /// Parses a document.
    ///
    /// - Throws: `ErrorCode.parseError` if it isn't XML, isn't complete, declares a document type, is nested too
    ///   deeply, or isn't an envelope.
    public init(reading bytes: [UInt8]) throws(ExperimentationError) {
        let root = XMLAPIElement(try XMLReader.parse(bytes))
        guard root.key == "envelope" else {
            throw ExperimentationError(.parseError, "XMLAPI: the document's root isn't Envelope")
        }
        let bodies = root.children.filter { $0.key == "body" }
        guard !bodies.isEmpty else { throw ExperimentationError(.parseError, "XMLAPI: the envelope has no Body") }
        elements = bodies.flatMap(\.children).flatMap { $0.key == "result" ? $0.children : [$0] }
    }

    /// Whether the vendor reports success: `TRUE`, `true`, `SUCCESS`, `yes` or `1`, without a fault.
    ///
    /// With several results, all must be successful.
    public var isSuccess: Bool {
        let answers = elements.filter { $0.key == "success" }
        return !answers.isEmpty && fault == nil
            && answers.allSatisfy { ["true", "success", "yes", "y", "t", "1"].contains($0.text.lowercased()) }
    }

    /// The fault, if there is one.
    public var fault: XMLAPIElement? { elements.first { $0.key == "fault" } }

    /// The fault's text, trimmed; empty if there is none.
    public var faultText: String { text(at: "fault.faultstring") }

    /// The fault's code; 0 if there is none.
    public var errorCode: XMLAPIErrorCode {
        XMLAPIErrorCode(rawValue: Int(text(at: "fault.detail.error.errorid")) ?? 0)
    }

    /// The recipient's id, or `nil`.
    public var recipientID: String? { nonEmpty(text(at: "recipientid")) }

    /// The recipient's e-mail address, or `nil`.
    ///
    /// Answers spell the element in two ways; the later one counts.
    public var email: String? { nonEmpty(elements.last { $0.key == "email" }?.text ?? "") }

    /// Returns the value of a column, regardless of the case of its name; `nil` if there is no such column or it is
    /// empty.
    public func column(_ name: String) -> String? {
        let key = name.lowercased()
        return columns.first { $0.name.lowercased() == key }.flatMap { nonEmpty($0.value) }
    }

    /// All columns, in the order of the answer.
    public var columns: [XMLAPIFields.Field] {
        elements.filter { $0.key == "columns" }.flatMap(\.children).filter { $0.key == "column" }.map { column in
            XMLAPIFields.Field(column.child("name")?.text ?? "", column.child("value")?.text ?? "")
        }
    }

    /// Rows that a relational table didn't take, although the answer is a success.
    public var failures: [XMLAPIRowFailure] {
        elements.filter { $0.key == "failures" }.flatMap(\.children).filter { $0.key == "failure" }.map { failure in
            var columns = XMLAPIFields()
            for column in failure.children where column.key == "column" {
                columns[column.attributes["name"] ?? ""] = column.text
            }
            return XMLAPIRowFailure(
                isTransient: failure.attributes["failure_type"]?.lowercased() == "transient",
                reason: failure.attributes["description"] ?? "",
                columns: columns
            )
        }
    }

    /// Returns the text at a short path such as `Fault.FaultString` or `columns.Lname`, in any case; empty if there is
    /// none.
    public func text(at path: String) -> String {
        let prefix = "columns."
        guard path.lowercased().hasPrefix(prefix) else { return nodes(at: path).first?.text ?? "" }
        // The reference compares only the part before the next dot, so it can't name a column with a dot; comparing the
        // whole rest works for both kinds.
        return column(String(path.dropFirst(prefix.count))) ?? ""
    }

    /// Returns all elements at a short path, in document order.
    public func nodes(at path: String) -> [XMLAPIElement] {
        var found = elements
        for (index, step) in path.lowercased().split(separator: ".").enumerated() {
            found = (index == 0 ? found : found.flatMap(\.children)).filter { $0.key == step }
            // Of two e-mail addresses, the later one replaces the earlier one.
            if step == "email", let last = found.last { found = [last] }
        }
        return path.isEmpty ? [] : found
    }

    private func nonEmpty(_ text: String) -> String? { text.isEmpty ? nil : text }
}

/// An element of an answer.
public struct XMLAPIElement: Sendable, Hashable {
    /// The name as written.
    public var name: String
    /// The attributes, with their names as written.
    public var attributes: [String: String]
    /// The text directly inside, trimmed.
    public var text: String
    /// The child elements, in order.
    public var children: [XMLAPIElement]
    /// The name in lower case.
    let key: String

    init(_ element: XMLTree) {
        name = element.name
        attributes = [:]
        for attribute in element.attributes { attributes[attribute.name] = attribute.value }
        text = element.trimmedText
        children = element.children.map(XMLAPIElement.init)
        key = element.name.lowercased()
    }

    /// Returns the first child with a name, in any case.
    public func child(_ name: String) -> XMLAPIElement? {
        let key = name.lowercased()
        return children.first { $0.key == key }
    }
}

/// A row that a relational table didn't take.
public struct XMLAPIRowFailure: Error, Sendable, Hashable {
    /// Whether the same row may be accepted later.
    public var isTransient: Bool
    /// The reason, in the vendor's words.
    public var reason: String
    /// The columns that identify the row.
    public var columns: XMLAPIFields
}

extension XMLAPIRowFailure: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Whether the row may be accepted later, without the vendor's words and the row's values.
    public var description: String { isTransient ? "a row was not taken for now" : "a row was refused" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Whether the row may be accepted later, without the vendor's words and the row's values.
    public var customMirror: Mirror { Mirror(self, children: ["isTransient": isTransient]) }
}

/// A fault of the XML interface, as the cause of an error.
public struct XMLAPIFault: Error, Sendable, Hashable {
    /// The operation called.
    public var operation: XMLAPIOperation
    /// The code; 0 if there was none.
    public var code: XMLAPIErrorCode
    /// The vendor's text.
    ///
    /// It may contain an address or an id, so it is left out wherever the fault is printed.
    public var text: String

    /// Whether the vendor would refuse the same call again, which is so unless the fault is the vendor's own failure or
    /// an expired session.
    var isLasting: Bool { ![.serverError, .invalidSession, .recipientOptOutInternalError].contains(code) }
}

extension XMLAPIFault: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The operation and the code, without the vendor's text.
    public var description: String { "\(operation): fault \(code)" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// The operation and the code, without the vendor's text.
    public var customMirror: Mirror { Mirror(self, children: ["operation": operation, "code": code]) }
}
