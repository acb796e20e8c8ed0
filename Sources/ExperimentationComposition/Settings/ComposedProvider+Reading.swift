import AdapterKit
import Experimentation

extension ComposedProvider {
    /// Reads the settings of a configuration file; `docs/schemas/configuration-composed.schema.json` lists them.
    ///
    /// JSON objects are unordered, so without a setting the vendors are in the order of their names.
    ///
    /// - Parameters:
    ///   - settings: The settings, without the vendor's name.
    ///   - make: Creates a vendor from its name and settings, and rejects unknown settings.
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(
        reading settings: inout SettingsReader,
        making make: (
            _ name: String, _ settings: SettingsReader
        ) throws(ExperimentationError) -> any ExperimentationProvider
    ) throws(ExperimentationError) {
        let vendors = try settings.section("vendors") { (all) throws(ExperimentationError) in
            try Self.vendors(&all, making: make)
        }
        let decisions = try DecisionTable(reading: &settings)
        let events = try EventTable(reading: &settings)
        let exposures = try settings.section("exposures") { (form) throws(ExperimentationError) in
            try ExposureEvent(reading: &form)
        }
        let name = try settings.string("name", default: "composed")
        do throws(ExperimentationError) {
            try self.init(vendors, decisions: decisions, events: events, exposures: exposures, name: name)
        } catch {
            throw Self.placed(error, in: settings)
        }
    }

    /// Names the key of an error from the top of the file, because a composition may be a part of another one.
    private static func placed(_ error: ExperimentationError, in settings: SettingsReader) -> ExperimentationError {
        guard let (_, key, reason) = error.message.wholeMatch(of: /"([^"]*)": (.*)/.dotMatchesNewlines())?.output else {
            return error.about(settings.file, as: .configuration)
        }
        return settings.error(String(key), String(reason))
    }

    private static func vendors(
        _ all: inout SettingsReader,
        making make: (String, SettingsReader) throws(ExperimentationError) -> any ExperimentationProvider
    ) throws(ExperimentationError) -> [Vendor] {
        var vendors: [Vendor] = []
        for name in all.keys {
            guard var own = try all.section(name) else { continue }
            vendors.append(Vendor(try make(try own.string("vendor", default: name), own), as: name))
        }
        return vendors
    }
}

extension DecisionTable {
    /// Reads `"decisions"`: a vendor, a list of vendors, or an object with rows.
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        guard case .object? = settings.value("decisions") else {
            self.init(others: try settings.vendors("decisions"))
            return
        }
        let table = try settings.section("decisions") { (table) throws(ExperimentationError) in
            var rows: [Row] = []
            for var row in try table.sections("rows") {
                let vendors = try row.vendors("from") ?? []
                if let prefix = try row.optionalString("prefix") {
                    if row.has("flags") { throw row.error("flags", "a row has flags or a prefix, not both") }
                    rows.append(.prefix(prefix, from: vendors))
                } else {
                    rows.append(.flags(try row.strings("flags"), from: vendors))
                }
                try row.finish()
            }
            return DecisionTable(
                rows,
                others: try table.vendors("others"),
                fallback: try table.choice("fallback", default: .firstMatch)
            )
        }
        self = table
    }
}

extension EventTable {
    /// Reads `"events"`: a vendor, a list of vendors, or an object with those by kind of event.
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        guard case .object? = settings.value("events") else {
            self.init(try settings.vendors("events").map { [Self.others: $0] } ?? [:])
            return
        }
        let rows = try settings.section("events") { (table) throws(ExperimentationError) in
            var rows: [String: [String]] = [:]
            for type in table.keys { rows[type] = try table.vendors(type) ?? [] }
            return rows
        }
        self.init(rows)
    }
}

extension ExposureEvent {
    /// Reads `"exposures"`: the event's name, and the names of its fields by content.
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        name = try settings.string("event", default: name)
        guard var own = try settings.section("fields") else { return }
        var fields: [Content: String] = [:]
        for content in Content.allCases { fields[content] = try own.optionalString(content.rawValue) }
        try own.finish()
        self.fields = fields
    }
}

extension SettingsReader {
    /// Reads a vendor or a list of vendors; `nil` if the key is missing.
    fileprivate mutating func vendors(_ key: String) throws(ExperimentationError) -> [String]? {
        guard let value = value(key) else { return nil }
        if case .string(let name) = value { return [name] }
        return try strings(key)
    }
}
