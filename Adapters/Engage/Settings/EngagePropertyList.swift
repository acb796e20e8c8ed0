import AdapterKit
import Experimentation

/// The meaning of the class names in a property list.
public struct EngageRegistry: Sendable {
    /// Id generators by class name.
    public var generators: [String: @Sendable () -> String]
    /// Plug-ins by class name.
    public var plugins: [String: any AugmentationPlugin]
    /// The feed of the reference's own location plug-ins; without it they are left out.
    public var places: LocationFeed?

    /// Creates a registry.
    public init(
        generators: [String: @Sendable () -> String] = [:],
        plugins: [String: any AugmentationPlugin] = [:],
        places: LocationFeed? = nil
    ) {
        self.generators = generators
        self.plugins = plugins
        self.places = places
    }

    /// Returns the plug-ins of a class; none for one of the reference's own classes without a feed, and `nil` for an
    /// unknown class.
    func plugins(named name: String, attributes: EngageConfiguration.AttributeNames) -> [any AugmentationPlugin]? {
        if let plugin = plugins[name] { return [plugin] }
        guard let place = Self.placePlugins.firstIndex(of: name) else { return nil }
        return places.map { [$0.plugins(names: attributes)[place]] } ?? []
    }

    private static let placePlugins = [
        "UBFCoordinatesAugmentationPlugin", "UBFPlacemarkAugmentationPlugin", "UBFLocationNameAugmentationPlugin",
    ]
}

extension EngageConfiguration {
    /// Merges a property list of the reference's shape into this configuration, key by key: other settings stay.
    ///
    /// Numbers and Booleans may be written as strings. Lengths are parsed by ``Expiration``. The list's id is used only
    /// if there is none yet.
    ///
    /// - Parameters:
    ///   - bytes: The file, in any of the property list formats.
    ///   - file: Its name, for messages.
    ///   - registry: The meaning of class names.
    /// - Returns: The unknown keys, as `Group.key`, in order.
    /// - Throws: `ErrorCode.configuration` with the file, the key and what was expected; nothing has changed then.
    @discardableResult
    public mutating func merge(
        propertyList bytes: [UInt8],
        file: String,
        registry: EngageRegistry = EngageRegistry()
    ) throws(ExperimentationError) -> [String] {
        // Groups are in the list, settings in groups, strings in settings.
        guard let groups = (try? PropertyList.parse(bytes, deepest: 3))?.objectValue else {
            throw ExperimentationError(.configuration, "\(file): not a property list with groups of settings")
        }
        var reader = PropertyReader(file: file, groups: groups)
        var next = self
        try next.read(&reader, registry: registry)
        do throws(ExperimentationError) { try next.validate() } catch {
            throw error.about(file, as: .configuration)
        }
        self = next
        return reader.unread
    }

    private mutating func read(
        _ list: inout PropertyReader,
        registry: EngageRegistry
    ) throws(ExperimentationError) {
        if listID.isEmpty {
            try list.text("General.databaseListId", &listID)
        } else {
            list.skip("General.databaseListId")
        }
        for setting in EngageSetting.listed {
            switch setting {
            case .text(let path, _, let key?): try list.text(key, &self[keyPath: path])
            case .flag(let path, _, let key?): try list.flag(key, &self[keyPath: path])
            case .count(let path, _, _, let key?): try list.count(key, &self[keyPath: path])
            case .decimal(let path, _, _, let key?): try list.decimal(key, &self[keyPath: path])
            case .length(let path, _, let key?): try list.length(key, &self[keyPath: path])
            default: continue
            }
        }
        var precision = location.precision.rawValue
        try list.text("LocationServices.locationPrecisionLevel", &precision)
        location.precision = Location.Precision(named: precision)
        if let classes = try list.texts("Augmentation.augmentationPluginClasses") {
            augmentation.plugins = []
            for name in classes {
                guard let plugins = registry.plugins(named: name, attributes: attributes) else {
                    throw list.error("Augmentation.augmentationPluginClasses", "no plug-in is registered as \(name)")
                }
                augmentation.plugins += plugins
            }
        }
        try list.generator("Recipient.mobileUserIdGeneratorClassName", &recipients.makeID, registry)
        try readAudit(&list, registry: registry)
    }

    private mutating func readAudit(
        _ list: inout PropertyReader,
        registry: EngageRegistry
    ) throws(ExperimentationError) {
        var isAudited = recipients.audit != nil
        var table = recipients.audit ?? AuditTable(tableID: "")
        try list.flag("AuditRecord.mergeHistoryInAuditRecordTable", &isAudited)
        try list.text("AuditRecord.auditRecordListId", &table.tableID)
        for column in AuditTable.columns { try list.text(column.listed, &table[keyPath: column.path]) }
        try list.generator("AuditRecord.auditRecordPrimaryKeyGeneratorClassName", &table.makeKey, registry)
        guard !isAudited || !table.tableID.isEmpty else {
            throw list.error("AuditRecord.auditRecordListId", "needed where mergeHistoryInAuditRecordTable is on")
        }
        recipients.audit = isAudited ? table : nil
    }
}

/// Reads settings of a property list by group and key, and remembers which.
private struct PropertyReader {
    let file: String
    private var left: [String: FlagValue] = [:]
    private var strange: [String] = []

    init(file: String, groups: [String: FlagValue]) {
        self.file = file
        for (name, value) in groups {
            if value.objectValue == nil { strange.append(name) }
            for (key, value) in value.objectValue ?? [:] { left["\(name).\(key)"] = value }
        }
    }

    var unread: [String] { (strange + left.keys).sorted() }

    func error(_ key: String, _ text: String) -> ExperimentationError {
        ExperimentationError(.configuration, "\(file): \(key): \(text)")
    }

    mutating func skip(_ key: String) { left[key] = nil }

    /// Replaces a setting with the list's, if the list has it.
    private mutating func read<Value>(
        _ key: String,
        _ target: inout Value,
        expecting kind: String,
        _ parse: (FlagValue) -> Value?
    ) throws(ExperimentationError) {
        guard let value = left.removeValue(forKey: key) else { return }
        guard let parsed = parse(value) else { throw error(key, "expected \(kind)") }
        target = parsed
    }

    mutating func text(_ key: String, _ target: inout String) throws(ExperimentationError) {
        try read(key, &target, expecting: "a text", \.written)
    }

    mutating func texts(_ key: String) throws(ExperimentationError) -> [String]? {
        var texts: [String]?
        try read(key, &texts, expecting: "a list of texts") { value in
            guard let texts = value.arrayValue?.map(\.written), !texts.contains(nil) else { return nil }
            return texts.compactMap(\.self)
        }
        return texts
    }

    mutating func decimal(_ key: String, _ target: inout Double) throws(ExperimentationError) {
        try read(key, &target, expecting: "a number", \.number)
    }

    mutating func count(_ key: String, _ target: inout Int) throws(ExperimentationError) {
        try read(key, &target, expecting: "a whole number") { $0.number.flatMap { Int(exactly: $0) } }
    }

    mutating func flag(_ key: String, _ target: inout Bool) throws(ExperimentationError) {
        try read(key, &target, expecting: "YES or NO") { value in
            switch value.written?.lowercased() {
            case "yes", "true", "1": true
            case "no", "false", "0": false
            default: value.boolValue
            }
        }
    }

    mutating func length(_ key: String, _ target: inout Duration) throws(ExperimentationError) {
        try read(key, &target, expecting: "a length such as 5 minutes") { value in
            guard let text = value.written, !text.isEmpty else { return nil }
            let expiration = Expiration(text)
            let isLength = expiration.moment == nil && (expiration.seconds > 0 || expiration.isPrecise)
            return isLength ? expiration.duration : nil
        }
    }

    /// Replaces a generator of ids with the one that the list names; for the reference's own, the environment generates
    /// ids.
    mutating func generator(
        _ key: String,
        _ target: inout (@Sendable () -> String)?,
        _ registry: EngageRegistry
    ) throws(ExperimentationError) {
        var name = ""
        try text(key, &name)
        if name.isEmpty { return }
        target = registry.generators[name]
        guard target != nil || name == "EngageDefaultUUIDGenerator" else {
            throw error(key, "no generator is registered as \(name)")
        }
    }
}

extension FlagValue {
    /// The text, or a number as a text.
    fileprivate var written: String? {
        switch self {
        case .string, .int, .double: EngageTranslation.text(self)
        default: nil
        }
    }

    /// A finite number, which may be written as a text.
    fileprivate var number: Double? { written.flatMap(Double.init).flatMap { $0.isFinite ? $0 : nil } }
}
