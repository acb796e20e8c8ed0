import Experimentation
import Foundation

/// Conversions of a report's subject to its encoded form.
enum WrittenForm {
    /// A copy with every string escaped for a format, including names and titles from outside.
    static func of<Part: Codable>(_ part: Part, as text: (String) -> String) -> Part {
        // Every part encodes as JSON, in which strings are leaves and keys.
        guard let data = try? JSONEncoder().encode(part),
            let value = try? JSONDecoder().decode(FlagValue.self, from: data),
            let changed = try? JSONEncoder().encode(value.mappingTexts(text)),
            let written = try? JSONDecoder().decode(Part.self, from: changed)
        else { return part }
        return written
    }

    /// A document as JSON with sorted keys and a final line feed.
    static func json(_ document: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // All numbers are finite and all keys are strings, so encoding can't fail.
        let data = (try? encoder.encode(document)) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
