import Experimentation
import Foundation

extension World {
    /// Parses a world from JSON.
    ///
    /// - Parameters:
    ///   - json: The JSON in UTF-8.
    ///   - document: The document's name, for errors.
    /// - Throws: An error that names the document, the key and what was expected.
    public init(json: some Sequence<UInt8>, named document: String = "world") throws(DocumentError) {
        try self.init(document: try DocumentReader.parse(json, named: document), named: document)
    }

    /// Creates a world from a parsed document.
    public init(document value: FlagValue, named document: String, at path: String = "") throws(DocumentError) {
        var reader = try DocumentReader(value, named: document, at: path)
        try self.init(reading: &reader)
        try reader.finish()
    }

    /// Parses a world from an object's keys, ignoring others.
    public init(reading reader: inout DocumentReader) throws(DocumentError) {
        self.init(
            name: try reader.name("name"),
            summary: try reader.optionalString("summary") ?? "",
            flags: try reader.each("flags") { (reader) throws(DocumentError) in try Flag(reading: &reader) },
            experiments: try reader.each("experiments") { (reader) throws(DocumentError) in
                try Experiment(reading: &reader)
            },
            holdouts: try reader.each("holdouts") { (reader) throws(DocumentError) in
                Holdout(
                    try reader.name("id"),
                    name: try reader.optionalString("name"),
                    weight: try reader.int("weight", in: 0...100),
                    experiments: try reader.strings("experiments")
                )
            },
            campaigns: try reader.each("campaigns") { (reader) throws(DocumentError) in
                try Campaign(reading: &reader)
            },
            users: try reader.each("users") { (reader) throws(DocumentError) in try User(reading: &reader) },
            catalogue: try reader.each("catalogue") { (reader) throws(DocumentError) in
                try CatalogItem(reading: &reader)
            },
            isKillSwitchOn: try reader.bool("killSwitch", default: false),
            lifetime: try reader.optionalInt("lifetime")
        )
        if let milliseconds = try reader.optionalInt("patience", in: 1...60_000) {
            patience = .milliseconds(milliseconds)
        }
        try checkReferences(reader)
    }

    /// The JSON form, as read by ``init(document:named:at:)``.
    public var document: FlagValue {
        var members: [String: FlagValue] = ["name": .string(name)]
        if !summary.isEmpty { members["summary"] = .string(summary) }
        if !flags.isEmpty { members["flags"] = .array(flags.map(\.document)) }
        if !experiments.isEmpty { members["experiments"] = .array(experiments.map(\.document)) }
        if !holdouts.isEmpty { members["holdouts"] = .array(holdouts.map(\.document)) }
        if !campaigns.isEmpty { members["campaigns"] = .array(campaigns.map(\.document)) }
        if !users.isEmpty { members["users"] = .array(users.map(\.document)) }
        if !catalogue.isEmpty { members["catalogue"] = .array(catalogue.map(\.document)) }
        if isKillSwitchOn { members["killSwitch"] = true }
        if let lifetime { members["lifetime"] = .int(lifetime) }
        if patience != Self.usualPatience { members["patience"] = .int(Int(patience / .milliseconds(1))) }
        return .object(members)
    }

    /// The world as JSON with sorted keys.
    public func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(document))
    }

    private func checkReferences(_ reader: DocumentReader) throws(DocumentError) {
        try checkUnique(flags.map(\.key), "flags", "key", reader)
        try checkUnique(experiments.map(\.id), "experiments", "id", reader)
        try checkUnique(users.map(\.id), "users", "id", reader)
        for (index, flag) in flags.enumerated() {
            guard let id = flag.experiment else {
                guard flag.variations.isEmpty else {
                    throw reader.error("flags[\(index)].variations", "expected \"experiment\" beside it")
                }
                continue
            }
            guard let experiment = experiment(id) else {
                throw reader.error("flags[\(index)].experiment", "no experiment has the id \"\(id)\"")
            }
            for variation in flag.variations.keys.sorted()
            where !experiment.variations.contains(where: { $0.id == variation }) {
                throw reader.error(
                    "flags[\(index)].variations.\(variation)",
                    "experiment \"\(id)\" has no such variation"
                )
            }
        }
        for (index, experiment) in experiments.enumerated() {
            try checkUnique(experiment.variations.map(\.id), "experiments[\(index)].variations", "id", reader)
            let sum = experiment.variations.reduce(0) { $0 + $1.weight }
            guard sum <= 100 else {
                throw reader.error("experiments[\(index)].variations", "the weights sum up to \(sum), more than 100")
            }
            for (user, variation) in experiment.forced.sorted(by: { $0.key < $1.key })
            where !experiment.variations.contains(where: { $0.id == variation }) {
                throw reader.error("experiments[\(index)].forced.\(user)", "there is no variation \"\(variation)\"")
            }
        }
        for (index, holdout) in holdouts.enumerated() {
            for id in holdout.experiments where experiment(id) == nil {
                throw reader.error("holdouts[\(index)].experiments", "no experiment has the id \"\(id)\"")
            }
        }
    }

    private func checkUnique(
        _ names: [String],
        _ list: String,
        _ key: String,
        _ reader: DocumentReader
    ) throws(DocumentError) {
        var seen: Set<String> = []
        for (index, name) in names.enumerated() where !seen.insert(name).inserted {
            throw reader.error("\(list)[\(index)].\(key)", "\"\(name)\" is there twice")
        }
    }
}

extension World: Codable {
    /// Decodes the JSON form.
    public init(from decoder: any Decoder) throws {
        let document = try decoder.singleValueContainer().decode(FlagValue.self)
        do {
            try self.init(document: document, named: "world")
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: error.description)
            )
        }
    }

    /// Encodes the JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(document)
    }
}
