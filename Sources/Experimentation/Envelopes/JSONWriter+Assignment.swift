/// Assignments and exposures as `JSONEncoder` writes them with sorted names.
extension JSONWriter {
    /// Writes an exposure.
    ///
    /// - Throws: ``Refusal`` for a value that can't be written.
    mutating func exposure(_ exposure: Exposure) throws {
        raw("{\"assignment\":")
        try assignment(exposure.assignment)
        if let value = exposure.defaultValue {
            raw(",\"defaultValue\":")
            try self.value(value)
        }
        optional(",\"flagKey\":", exposure.flagKey)
        if let value = exposure.value {
            raw(",\"value\":")
            try self.value(value)
        }
        raw("}")
    }

    /// Writes an assignment.
    ///
    /// - Throws: ``Refusal`` for metadata that can't be written.
    mutating func assignment(_ assignment: Assignment) throws {
        raw("{\"experiment\":{\"id\":")
        text(assignment.experiment.id)
        optional(",\"kind\":", assignment.experiment.kind)
        raw(",\"name\":")
        text(assignment.experiment.name)
        raw("},\"group\":")
        text(assignment.group)
        raw(assignment.isHoldout ? ",\"isHoldout\":true,\"metadata\":" : ",\"isHoldout\":false,\"metadata\":")
        try value(.object(assignment.metadata))
        raw(",\"origin\":")
        text(assignment.origin.rawValue)
        raw(",\"variation\":{\"id\":")
        text(assignment.variation.id)
        raw(assignment.variation.isControl ? ",\"isControl\":true,\"name\":" : ",\"isControl\":false,\"name\":")
        text(assignment.variation.name)
        raw("}}")
    }

    /// Writes a name and a text, if there is one.
    mutating func optional(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        raw(name)
        text(value)
    }
}
