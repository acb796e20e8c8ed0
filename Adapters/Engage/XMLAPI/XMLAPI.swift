import Experimentation

/// One call of the XML interface: an operation with parameters, columns, sync fields and rows.
///
/// ```swift
/// var call = XMLAPI(.selectRecipientData, ["LIST_ID": "45654", "EMAIL": "ann@example.test"])
/// call.columns["Customer Id"] = "123-45-6789"
/// let result = try await engage.xmlapi.send(call)
/// ```
///
/// Order is kept: parameters as they were added, then columns, rows, and sync fields last. Setting a name again
/// replaces its value and keeps its position. Names of columns are case-sensitive, as in the vendor's interface.
public struct XMLAPI: Sendable, Hashable {
    /// The operation.
    public var operation: XMLAPIOperation
    /// Elements directly under the operation, such as `LIST_ID`.
    public var parameters: XMLAPIFields
    /// The `COLUMN` elements with `NAME` and `VALUE`.
    public var columns: XMLAPIFields
    /// The fields by which the vendor finds a recipient; written last, and only if there are any.
    public var syncFields: XMLAPIFields
    /// Rows of a relational table; `nil` for operations that have none, empty for an empty `ROWS`.
    public var rows: [XMLAPIFields]?

    /// Creates a call.
    public init(
        _ operation: XMLAPIOperation,
        _ parameters: XMLAPIFields = [:],
        columns: XMLAPIFields = [:],
        syncFields: XMLAPIFields = [:],
        rows: [XMLAPIFields]? = nil
    ) {
        self.operation = operation
        self.parameters = parameters
        self.columns = columns
        self.syncFields = syncFields
        self.rows = rows
    }

    /// Sets `LIST_ID`.
    public mutating func setListID(_ id: String) { parameters["LIST_ID"] = id }
    /// Sets `RECIPIENT_ID`.
    public mutating func setRecipientID(_ id: String) { parameters["RECIPIENT_ID"] = id }
    /// Sets one parameter.
    public mutating func add(parameter name: String, _ value: String) { parameters[name] = value }
    /// Sets parameters.
    public mutating func add(parameters others: XMLAPIFields) { parameters.merge(others) }
    /// Sets one column.
    public mutating func add(column name: String, _ value: String) { columns[name] = value }
    /// Sets columns.
    public mutating func add(columns others: XMLAPIFields) { columns.merge(others) }
    /// Sets sync fields.
    public mutating func add(syncFields others: XMLAPIFields) { syncFields.merge(others) }
}

/// Names and values, in the order in which the names were first set.
public struct XMLAPIFields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// A name and its value.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String
        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The fields in order.
    public private(set) var all: [Field] = []

    /// Creates an empty list.
    public init() {}

    /// Creates fields; of two equal names, the later one wins.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }

    /// Creates fields from a dictionary, sorted by name.
    public init(_ values: [String: String]) {
        all = values.sorted { $0.key < $1.key }.map { Field($0.key, $0.value) }
    }

    /// The value of a name; setting `nil` removes it.
    public subscript(name: String) -> String? {
        get { all.first { $0.name == name }?.value }
        set {
            let place = all.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): all[place].value = value
            case (let place?, nil): all.remove(at: place)
            case (nil, let value?): all.append(Field(name, value))
            case (nil, nil): break
            }
        }
    }

    /// Whether there are no fields.
    public var isEmpty: Bool { all.isEmpty }

    /// Merges other fields into these.
    public mutating func merge(_ others: XMLAPIFields) {
        for field in others.all { self[field.name] = field.value }
    }
}
