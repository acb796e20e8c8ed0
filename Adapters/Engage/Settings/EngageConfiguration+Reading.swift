import AdapterKit
import Experimentation

extension EngageConfiguration {
    /// Reads the settings of a configuration file.
    ///
    /// `host`, `clientID`, `clientSecret`, `refreshToken` and `listID` are required; the host may also be
    /// `endpoints.host`. Everything else has the reference's defaults. Times are in seconds.
    ///
    /// - Parameters:
    ///   - settings: The file's settings.
    ///   - registry: The meaning of the names under `augmentation.plugins`.
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(
        reading settings: inout SettingsReader,
        registry: EngageRegistry = EngageRegistry()
    ) throws(ExperimentationError) {
        let endpoint = try settings.section("endpoints") { endpoints throws(ExperimentationError) in
            try endpoints.optionalEndpoint("host")
        }
        let host = try settings.optionalEndpoint("host")
        guard let address = endpoint ?? host else {
            throw settings.error("host", "missing; expected an https address, here or as endpoints.host")
        }
        self.init(
            endpoint: address,
            credentials: Credentials(
                clientID: try settings.string("clientID"),
                clientSecret: try settings.secret("clientSecret"),
                refreshToken: try settings.secret("refreshToken")
            ),
            listID: try settings.string("listID")
        )
        try read(EngageSetting.general, from: &settings)
        try readSections(of: &settings, registry: registry)
        do throws(ExperimentationError) {
            try validate()
        } catch {
            throw error.about(settings.file, as: .configuration)
        }
    }

    private mutating func readSections(
        of settings: inout SettingsReader,
        registry: EngageRegistry
    ) throws(ExperimentationError) {
        let plain = [
            ("parameters", EngageSetting.parameters), ("attributes", EngageSetting.attributes),
            ("networking", EngageSetting.networking),
        ]
        for (key, list) in plain {
            try settings.section(key) { section throws(ExperimentationError) in try read(list, from: &section) }
        }
        try settings.section("recipients") { section throws(ExperimentationError) in
            try read(EngageSetting.recipients, from: &section)
            guard section.has("audit") else { return }
            recipients.audit = try section.section("audit", read: AuditTable.init(reading:))
        }
        try settings.section("location") { section throws(ExperimentationError) in
            try read(EngageSetting.location, from: &section)
            location.precision = try section.choice("precision", default: location.precision)
        }
        try settings.section("augmentation") { section throws(ExperimentationError) in
            try read(EngageSetting.augmentation, from: &section)
            for name in try section.strings("plugins") {
                guard let named = registry.plugins(named: name, attributes: attributes) else {
                    throw section.error("plugins", "no plug-in is registered as \(name)")
                }
                augmentation.plugins += named
            }
        }
        try settings.section("device") { section throws(ExperimentationError) in
            try read(EngageSetting.device, from: &section)
            device.id = try section.optionalString("id")
        }
    }

    private mutating func read(
        _ list: [EngageSetting],
        from settings: inout SettingsReader
    ) throws(ExperimentationError) {
        for setting in list {
            switch setting {
            case .text(let path, let key, _):
                self[keyPath: path] = try settings.string(key, default: self[keyPath: path])
            case .flag(let path, let key, _):
                self[keyPath: path] = try settings.bool(key, default: self[keyPath: path])
            case .count(let path, let key, let range, _):
                self[keyPath: path] = try settings.int(key, default: self[keyPath: path], in: range)
            case .decimal(let path, let key, let range, _):
                self[keyPath: path] = try settings.double(key, default: self[keyPath: path], in: range)
            case .length(let path, let key, _):
                self[keyPath: path] = try settings.seconds(key, default: self[keyPath: path])
            }
        }
    }
}

extension EngageConfiguration.AuditTable {
    fileprivate init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init(tableID: try settings.string("tableID"))
        for column in Self.columns {
            self[keyPath: column.path] = try settings.string(column.key, default: self[keyPath: column.path])
        }
    }
}
