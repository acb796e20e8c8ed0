import Experimentation
import Foundation
import Synchronization

/// Writes the decisions for a user as a line of JSON, with keys and numbers as `JSONEncoder` formats them.
///
/// Users share a catalogue, so each value of a flag is encoded once and then copied.
final class EvaluationWriter: Sendable {
    /// A catalogue's flags in key order, with every value as encoded JSON, key included.
    private final class Forms: Sendable {
        let catalogue: FlagCatalogue
        let order: [Int]
        let texts: [[[UInt8]]]

        init(_ catalogue: FlagCatalogue) {
            self.catalogue = catalogue
            order = EvaluationWriter.order(of: catalogue)
            texts = catalogue.keys.indices.map { flag in
                (0..<catalogue.outcomeCount(ofFlag: flag)).map { outcome in
                    EvaluationWriter.flag(catalogue, flag, outcome)
                }
            }
        }
    }

    // Beyond this many values, the cache costs more than it saves.
    private static let mostForms = 20_000

    private let last = Mutex<Forms?>(nil)

    /// Returns the line, without a line break.
    func line(_ user: FlagValue, _ decisions: Decisions, status: ProviderStatus, error: FlagValue) -> [UInt8] {
        var writer = JSONWriter(.asEncoder, capacity: 1_024)
        writer.raw(#"{"assignments":["#)
        var isFirst = true
        for assignment in decisions.assignments {
            if !isFirst { writer.raw(",") }
            isFirst = false
            Self.write(assignment, to: &writer)
        }
        writer.raw(#"],"decisions":{"#)
        write(decisions, to: &writer)
        writer.raw(#"},"error":"#)
        Self.write(error, to: &writer)
        writer.raw(#","status":"#)
        writer.text(status.rawValue)
        writer.raw(#","user":"#)
        Self.write(user, to: &writer)
        writer.raw("}")
        return writer.bytes
    }

    private func write(_ decisions: Decisions, to writer: inout JSONWriter) {
        let catalogue = decisions.catalogue
        let forms = forms(of: catalogue)
        var isFirst = true
        for flag in forms?.order ?? Self.order(of: catalogue) {
            guard let outcome = decisions.outcome(ofFlag: flag) else { continue }
            if !isFirst { writer.raw(",") }
            isFirst = false
            writer.raw(forms?.texts[flag][outcome] ?? Self.flag(catalogue, flag, outcome))
        }
    }

    /// Returns the cached forms, if the catalogue is shared and not too large.
    private func forms(of catalogue: FlagCatalogue) -> Forms? {
        if let known = last.withLock({ $0 }), known.catalogue === catalogue { return known }
        let count = catalogue.keys.indices.reduce(0) { $0 + catalogue.outcomeCount(ofFlag: $1) }
        guard count > catalogue.count, count <= Self.mostForms else { return nil }
        let forms = Forms(catalogue)
        last.withLock { $0 = forms }
        return forms
    }

    /// The key order of `JSONEncoder`, which for ASCII keys is byte order.
    private static func order(of catalogue: FlagCatalogue) -> [Int] {
        let keys = catalogue.keys
        if keys.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) {
            return keys.indices.sorted { keys[$0] < keys[$1] }
        }
        // The order of other keys isn't documented, so it is read from the encoder's output.
        let names = FlagValue.object(Dictionary(keys.map { ($0, .null) }, uniquingKeysWith: { $1 }))
        let text = JSONLine.text(names)
        let asked = keys.map { key -> Int in
            var quoted = JSONWriter(.asEncoder)
            quoted.text(key)
            return text.range(of: String(decoding: quoted.bytes, as: UTF8.self) + ":null")
                .map { text.utf8.distance(from: text.startIndex, to: $0.lowerBound) } ?? 0
        }
        return keys.indices.sorted { asked[$0] < asked[$1] }
    }

    private static func flag(_ catalogue: FlagCatalogue, _ flag: Int, _ outcome: Int) -> [UInt8] {
        var writer = JSONWriter(.asEncoder, capacity: 256)
        guard let resolution = catalogue.resolution(ofFlag: flag, outcome: outcome) else { return [] }
        writer.text(catalogue.keys[flag])
        writer.raw(#":{"error":"#)
        write(resolution.error.map { JSONLine.error($0, resolution.errorMessage ?? "") } ?? .null, to: &writer)
        writer.raw(#","metadata":"#)
        write(.object(resolution.metadata), to: &writer)
        writer.raw(#","reason":"#)
        writer.text(resolution.reason.rawValue)
        writer.raw(#","value":"#)
        write(resolution.value, to: &writer)
        writer.raw(#","variant":"#)
        write(resolution.variant.map { .string($0) } ?? .null, to: &writer)
        writer.raw("}")
        return writer.bytes
    }

    private static func write(_ assignment: Assignment, to writer: inout JSONWriter) {
        writer.raw(#"{"experiment":"#)
        writer.text(assignment.experiment.id)
        writer.raw(#","group":"#)
        writer.text(assignment.group)
        writer.raw(assignment.variation.isControl ? #","isControl":true"# : #","isControl":false"#)
        writer.raw(assignment.isHoldout ? #","isHoldout":true,"origin":"# : #","isHoldout":false,"origin":"#)
        writer.text(assignment.origin.rawValue)
        writer.raw(#","variation":"#)
        writer.text(assignment.variation.id)
        writer.raw("}")
    }

    /// Writes a value; one that JSON can't represent, such as NaN, becomes `null`.
    private static func write(_ value: FlagValue, to writer: inout JSONWriter) {
        var part = JSONWriter(.asEncoder)
        do {
            try part.value(value)
            writer.raw(part.bytes)
        } catch {
            writer.raw("null")
        }
    }
}
