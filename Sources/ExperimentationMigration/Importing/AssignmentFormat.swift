import Experimentation
import Foundation

/// The format of lines with another system's assignments.
public enum AssignmentFormat: String, Sendable, Hashable, CaseIterable {
    /// Flagship's visitor cache, one record a line.
    case visitorCache = "visitor-cache"
    /// GrowthBook's sticky bucket documents, one a line.
    case growthbook
    /// Optimizely's user profiles, one a line.
    case optimizely
    /// Statsig's sticky values by storage key, one or more per line.
    case statsig
    /// `unit,experiment,variant` after a header line; further columns are ignored.
    case csv
}

/// One user's assignments in another system.
public struct ImportedAssignments: Sendable, Hashable {
    /// The user's stable key: the anonymous id if there is one.
    public var user: String
    /// The id of a user who also has an anonymous one; both lead to the same record.
    public var id: String?
    /// Variations by experiment or group, with the other system's ids.
    public var variations: [String: String]

    /// Creates assignments.
    public init(user: String, id: String? = nil, variations: [String: String]) {
        self.user = user
        self.id = id
        self.variations = variations
    }
}

/// Why a line was rejected.
public struct ImportFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason with what was found, for people.
    public var description: String
    /// The reason alone: one of a few fixed texts, whatever the lines contain.
    public var reason: String

    init(_ description: String, as reason: String? = nil) {
        self.description = description
        self.reason = reason ?? description
    }
}

/// Reads lines of one format; remembers the header line.
public struct AssignmentReader: Sendable {
    private let format: AssignmentFormat
    private var columns: (unit: Int, experiment: Int, variant: Int)?

    /// Creates a reader for the beginning of a file.
    public init(_ format: AssignmentFormat) { self.format = format }

    /// Reads one line.
    ///
    /// - Parameter line: The line in UTF-8, without its line break.
    /// - Returns: The assignments; none for a header line.
    /// - Throws: Why the line is rejected.
    public mutating func read(_ line: [UInt8]) throws(ImportFault) -> [ImportedAssignments] {
        if format == .csv { return try readCSV(line) }
        let document: FlagValue
        do throws(JSONFault) {
            document = try JSONParser.document(line, deepest: 32)
        } catch {
            throw ImportFault("not a JSON document: \(error.reason)", as: "not a JSON document")
        }
        guard case .object(let members) = document else { throw ImportFault("expected an object") }
        switch format {
        case .visitorCache: return try [visitor(members)]
        case .growthbook: return try [sticky(members)]
        case .optimizely: return try [profile(members)]
        case .statsig: return try stored(members)
        case .csv: return []
        }
    }

    private func visitor(_ members: [String: FlagValue]) throws(ImportFault) -> ImportedAssignments {
        guard let data = members["data"]?.objectValue else { throw ImportFault("\"data\": expected an object") }
        let ids = ["anonymousId", "visitorId"].compactMap { data[$0]?.stringValue }.filter { !$0.isEmpty }
        guard let user = ids.first else { throw ImportFault("\"data.visitorId\": expected an id") }
        let id = ids.last.flatMap { ExactText($0) == ExactText(user) ? nil : $0 }
        let history = data["assignationHistory"] ?? data["assignmentsHistory"]
        // A visitor who was in no campaign has no history.
        guard let history, history != .null else { return ImportedAssignments(user: user, id: id, variations: [:]) }
        return ImportedAssignments(user: user, id: id, variations: try texts(history, "data.assignationHistory"))
    }

    private func sticky(_ members: [String: FlagValue]) throws(ImportFault) -> ImportedAssignments {
        guard let user = members["attributeValue"]?.stringValue, !user.isEmpty else {
            throw ImportFault("\"attributeValue\": expected an id")
        }
        var variations: [String: String] = [:]
        var newest: [String: Int] = [:]
        for (key, variation) in try texts(members["assignments"], "assignments") {
            // The key ends in a version; the newest version of an experiment counts.
            guard let end = key.range(of: "__", options: .backwards), let version = Int(key[end.upperBound...]) else {
                throw ImportFault("\"\(key)\": expected a version", as: "a key of \"assignments\": expected a version")
            }
            let experiment = String(key[..<end.lowerBound])
            if let known = newest[experiment], known > version { continue }
            newest[experiment] = version
            variations[experiment] = variation
        }
        return ImportedAssignments(user: user, variations: variations)
    }

    private func profile(_ members: [String: FlagValue]) throws(ImportFault) -> ImportedAssignments {
        guard let user = members["user_id"]?.stringValue, !user.isEmpty else {
            throw ImportFault("\"user_id\": expected an id")
        }
        guard let map = members["experiment_bucket_map"]?.objectValue else {
            throw ImportFault("\"experiment_bucket_map\": expected an object")
        }
        var variations: [String: String] = [:]
        for (experiment, value) in map {
            guard let id = value.objectValue?["variation_id"]?.stringValue else {
                throw ImportFault(
                    "\"experiment_bucket_map.\(experiment).variation_id\": expected an id",
                    as: "\"variation_id\": expected an id"
                )
            }
            variations[experiment] = id
        }
        return ImportedAssignments(user: user, variations: variations)
    }

    private func stored(_ members: [String: FlagValue]) throws(ImportFault) -> [ImportedAssignments] {
        var all: [ImportedAssignments] = []
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let colon = key.lastIndex(of: ":"), colon != key.startIndex, let configs = value.objectValue else {
                throw ImportFault("a key: expected a unit, a colon and its type, with an object")
            }
            var variations: [String: String] = [:]
            for (config, kept) in configs {
                let kept = kept.objectValue
                guard let group = kept?["group_name"]?.stringValue ?? kept?["rule_id"]?.stringValue else {
                    throw ImportFault(
                        "\"\(config).group_name\": expected a name",
                        as: "\"group_name\": expected a name"
                    )
                }
                variations[config] = group
            }
            all.append(ImportedAssignments(user: String(key[..<colon]), variations: variations))
        }
        return all
    }

    private func texts(_ value: FlagValue?, _ key: String) throws(ImportFault) -> [String: String] {
        guard let members = value?.objectValue else { throw ImportFault("\"\(key)\": expected an object") }
        var texts: [String: String] = [:]
        for (name, value) in members {
            guard let text = value.stringValue else {
                throw ImportFault("\"\(key).\(name)\": expected an id", as: "a member of \"\(key)\": expected an id")
            }
            texts[name] = text
        }
        return texts
    }

    // MARK: CSV

    private mutating func readCSV(_ line: [UInt8]) throws(ImportFault) -> [ImportedAssignments] {
        guard let fields = CSVLine.fields(line) else { throw ImportFault("a quote that isn't closed") }
        guard let columns else {
            let names = fields.map { $0.lowercased() }
            guard let unit = names.firstIndex(where: { ["unit", "user", "user_id", "visitor"].contains($0) }),
                let experiment = names.firstIndex(where: { ["experiment", "group"].contains($0) }),
                let variant = names.firstIndex(where: { ["variant", "variation"].contains($0) })
            else { throw ImportFault("expected a first line with unit, experiment and variant") }
            columns = (unit, experiment, variant)
            return []
        }
        guard fields.count > max(columns.unit, columns.experiment, columns.variant) else {
            throw ImportFault(
                "expected \(max(columns.unit, columns.experiment, columns.variant) + 1) fields, found \(fields.count)",
                as: "too few fields"
            )
        }
        let user = fields[columns.unit]
        guard !user.isEmpty else { throw ImportFault("a unit without an id") }
        return [ImportedAssignments(user: user, variations: [fields[columns.experiment]: fields[columns.variant]])]
    }
}

/// A line of comma-separated values, quoted as in RFC 4180.
enum CSVLine {
    /// Returns the fields; `nil` if a quote isn't closed.
    static func fields(_ line: [UInt8]) -> [String]? {
        var fields: [String] = []
        var field: [UInt8] = []
        var isQuoted = false
        var index = 0
        while index < line.count {
            let byte = line[index]
            if isQuoted {
                if byte == UInt8(ascii: "\"") {
                    if index + 1 < line.count, line[index + 1] == byte {
                        field.append(byte)
                        index += 1
                    } else {
                        isQuoted = false
                    }
                } else {
                    field.append(byte)
                }
            } else if byte == UInt8(ascii: "\""), field.isEmpty {
                isQuoted = true
            } else if byte == UInt8(ascii: ",") {
                fields.append(String(decoding: field, as: UTF8.self))
                field = []
            } else {
                field.append(byte)
            }
            index += 1
        }
        if isQuoted { return nil }
        return fields + [String(decoding: field, as: UTF8.self)]
    }
}
