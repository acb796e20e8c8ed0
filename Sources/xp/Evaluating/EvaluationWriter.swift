import Experimentation
import Foundation
import Synchronization

/// Writes what was decided for one user as a line of JSON: the keys sorted, the numbers as `JSONEncoder` has them.
///
/// What a flag resolves to is written once for each of its values and then copied: rules are shared by all users.
final class EvaluationWriter: Sendable {
    /// A catalogue's flags in the order of their keys, and every value of each as JSON, the key included.
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

    // More values than this are not worth keeping.
    private static let mostForms = 20_000

    private let last = Mutex<Forms?>(nil)

    /// The line, without a line break.
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

    /// What is kept of a catalogue that several users share.
    private func forms(of catalogue: FlagCatalogue) -> Forms? {
        if let known = last.withLock({ $0 }), known.catalogue === catalogue { return known }
        let count = catalogue.keys.indices.reduce(0) { $0 + catalogue.outcomeCount(ofFlag: $1) }
        guard count > catalogue.count, count <= Self.mostForms else { return nil }
        let forms = Forms(catalogue)
        last.withLock { $0 = forms }
        return forms
    }

    /// The order in which `JSONEncoder` has keys, which for plain ones is that of their bytes.
    private static func order(of catalogue: FlagCatalogue) -> [Int] {
        let keys = catalogue.keys
        if keys.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) {
            return keys.indices.sorted { keys[$0] < keys[$1] }
        }
        // What the encoder makes of other letters is its own affair, so it is asked.
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

    /// Writes a value; one that can't be written, because of a number that is none, is null.
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
