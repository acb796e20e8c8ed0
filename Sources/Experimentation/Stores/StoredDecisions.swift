import Foundation

/// Decisions in their written form.
struct StoredDecisions: Codable, Sendable {
    struct Flag: Codable, Sendable {
        var key: String
        var resolution: Resolution
    }

    var date: Date
    var flags: [Flag]
    var assignments: [Assignment]

    init(_ decisions: Decisions, date: Date) {
        self.date = date
        // Only what this user has is written, so indices into the catalogue's assignments change.
        let indices = decisions.assignmentIndices
        let places = Dictionary(zip(indices, indices.indices), uniquingKeysWith: { $1 })
        assignments = indices.map { decisions.catalogue.assignments[$0] }
        flags = decisions.keys.compactMap { key in
            guard var resolution = decisions[key] else { return nil }
            resolution.assignment = resolution.assignment.flatMap { places[$0] }
            return Flag(key: key, resolution: resolution)
        }
    }

    var decisions: Decisions {
        Decisions(flags: flags.map { ($0.key, $0.resolution) }, assignments: assignments)
    }
}

extension StoredDecisions {
    /// The bytes that `JSONEncoder` would write with sorted keys.
    ///
    /// - Throws: Why a value can't be written, such as an infinite number.
    func written() throws -> [UInt8] {
        var writer = JSONWriter(.asEncoder, capacity: 128 + 192 * (flags.count + assignments.count))
        writer.raw("{\"assignments\":[")
        try writer.list(assignments) { writer, assignment in try writer.assignment(assignment) }
        writer.raw("],\"date\":")
        try writer.number(date.timeIntervalSinceReferenceDate)
        writer.raw(",\"flags\":[")
        try writer.list(flags) { writer, flag in
            writer.raw("{\"key\":")
            writer.text(flag.key)
            writer.raw(",\"resolution\":")
            try writer.resolution(flag.resolution)
            writer.raw("}")
        }
        writer.raw("]}")
        return writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func list<Element>(
        _ elements: [Element],
        _ write: (inout JSONWriter, Element) throws -> Void
    ) rethrows {
        for (index, element) in elements.enumerated() {
            if index > 0 { raw(",") }
            try write(&self, element)
        }
    }

    fileprivate mutating func resolution(_ resolution: Resolution) throws {
        raw("{")
        if let assignment = resolution.assignment {
            raw("\"assignment\":")
            number(assignment)
            raw(",")
        }
        if let error = resolution.error {
            raw("\"error\":")
            text(error.rawValue)
            raw(",")
        }
        if let message = resolution.errorMessage {
            raw("\"errorMessage\":")
            text(message)
            raw(",")
        }
        raw("\"metadata\":")
        try value(.object(resolution.metadata))
        raw(",\"reason\":")
        text(resolution.reason.rawValue)
        raw(",\"value\":")
        try value(resolution.value)
        optional(",\"variant\":", resolution.variant)
        raw("}")
    }
}
