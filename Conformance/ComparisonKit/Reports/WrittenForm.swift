import Experimentation
import Foundation

/// What every report needs of its subject's written form.
enum WrittenForm {
    /// The same with every text in it, names and titles from outside among them, as a format can hold it.
    static func of<Part: Codable>(_ part: Part, as text: (String) -> String) -> Part {
        // Every part has a written form, of which texts are the leaves and the names.
        guard let data = try? JSONEncoder().encode(part),
            let value = try? JSONDecoder().decode(FlagValue.self, from: data),
            let changed = try? JSONEncoder().encode(value.mappingTexts(text)),
            let written = try? JSONDecoder().decode(Part.self, from: changed)
        else { return part }
        return written
    }

    /// A document with its keys sorted, and a line break at its end.
    static func json(_ document: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Every number in it is finite and every key a text, so there is nothing to fail.
        let data = (try? encoder.encode(document)) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
