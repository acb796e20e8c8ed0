import Experimentation

/// What a vendor's form of an event leaves out, or why the event has no form, for the log.
///
/// It never contains a value from the application.
package struct WireNote: Error, Hashable {
    /// The level at which it is logged.
    package var level: LogLevel
    /// The sentence.
    package var text: String

    /// Creates a note.
    package init(level: LogLevel, text: String) {
        self.level = level
        self.text = text
    }

    /// Creates a warning.
    package static func warning(_ text: String) -> Self { Self(level: .warning, text: text) }

    /// Creates an error.
    package static func error(_ text: String) -> Self { Self(level: .error, text: text) }
}

extension [WireNote] {
    /// Notes a part that the vendor has no field for.
    package mutating func leaveOut(_ what: String) { append(.warning("\(what) has no place on the wire")) }

    /// Notes parts that the vendor has no fields for, if there are any.
    package mutating func leaveOut(_ what: String, _ names: Set<String>) {
        if names.isEmpty { return }
        append(.warning("\(what) have no place on the wire: \(names.sorted().joined(separator: ", "))"))
    }
}
