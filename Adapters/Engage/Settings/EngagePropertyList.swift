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

    /// Returns the plug-ins of a class; none for one of the reference's own without a feed, and `nil` for an unknown
    /// class.
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
        guard case .group(let groups)? = try? PropertyValue(reading: bytes) else {
            throw ExperimentationError(.configuration, "\(file): not a property list with groups of settings")
        }
        var reader = PropertyReader(file: file, groups: groups)
        var next = self
        try next.read(&reader, registry: registry)
        try next.validate(as: file)
        self = next
        return reader.unread
    }

    private func validate(as file: String) throws(ExperimentationError) {
        do throws(ExperimentationError) { try validate() } catch {
            throw error.about(file, as: .configuration)
        }
    }

    private mutating func read(
        _ list: inout PropertyReader,
        registry: EngageRegistry
    ) throws(ExperimentationError) {
        if listID.isEmpty {
            try list.text("General", "databaseListId", &listID)
        } else {
            list.skip("General", "databaseListId")
        }
        try list.number("General", "ubfEventCacheSize", &batchSize)
        try list.length("General", "defaultCurrentCampaignExpiration", &campaignLifetime)
        try list.text("ParamFieldNames", "ParamCampaignValidFor", &parameters.campaignValidFor)
        try list.text("ParamFieldNames", "ParamCampaignExpiresAt", &parameters.campaignExpiresAt)
        try list.text("ParamFieldNames", "ParamCampaignEndTimeStamp", &parameters.campaignEnd)
        try list.text("ParamFieldNames", "ParamCurrentCampaign", &parameters.currentCampaign)
        try list.text("ParamFieldNames", "ParamCallToAction", &parameters.callToAction)
        try list.length("Session", "sessionLifecycleExpiration", &sessionTimeout)
        try list.number("Networking", "maxNumRetries", &networking.attempts)
        try list.number("LocalEventStore", "expireLocalEventsAfterNumDays", &retentionDays)
        for (key, path) in AttributeNames.settings {
            let name = key.prefix(1).uppercased() + key.dropFirst()
            try list.text("UBFFieldNames", "UBF\(name)FieldName", &attributes[keyPath: path])
        }
        try list.flag("LocationServices", "enabled", &location.isEnabled)
        try list.text("LocationServices", "lastKnownLocationDateFormat", &location.dateFormat)
        try list.text("LocationServices", "lastKnownLocationTimestampColumn", &location.timestampColumn)
        try list.text("LocationServices", "lastKnownLocationColumn", &location.addressColumn)
        try list.decimal("LocationServices", "locationDistanceFilter", &location.distanceFilter)
        var precision = location.precision.rawValue
        try list.text("LocationServices", "locationPrecisionLevel", &precision)
        location.precision = Location.Precision(named: precision)
        try list.length("LocationServices", "locationCacheLifespan", &location.cacheLifespan)
        try list.length("LocationServices", "coordinatesPlacemarkTimeout", &location.placemarkTimeout)
        try list.length("LocationServices", "coordinatesAcquisitionTimeout", &location.acquisitionTimeout)
        try list.length("Augmentation", "augmentationTimeout", &augmentation.timeout)
        if let classes = try list.texts("Augmentation", "augmentationPluginClasses") {
            augmentation.plugins = []
            for name in classes {
                guard let plugins = registry.plugins(named: name, attributes: attributes) else {
                    throw list.error("Augmentation", "augmentationPluginClasses", "no plug-in is registered as \(name)")
                }
                augmentation.plugins += plugins
            }
        }
        try readRecipients(&list, registry: registry)
    }

    private mutating func readRecipients(
        _ list: inout PropertyReader,
        registry: EngageRegistry
    ) throws(ExperimentationError) {
        func read(
            _ generator: inout (@Sendable () -> String)?,
            _ group: String,
            _ key: String
        ) throws(ExperimentationError) {
            var name = ""
            try list.text(group, key, &name)
            if name.isEmpty { return }
            generator = registry.generators[name]
            guard generator != nil || name == "EngageDefaultUUIDGenerator" else {
                throw list.error(group, key, "no generator is registered as \(name)")
            }
        }
        try list.flag("Recipient", "enableAutoAnonymousTracking", &recipients.autoAnonymous)
        try read(&recipients.makeID, "Recipient", "mobileUserIdGeneratorClassName")
        try list.text("Recipient", "mobileUserIdColumn", &recipients.mobileUserIDColumn)
        try list.text("Recipient", "mergedRecipientIdColumn", &recipients.mergedRecipientIDColumn)
        try list.text("Recipient", "mergedDateColumn", &recipients.mergedDateColumn)
        try list.flag("Recipient", "mergeHistoryInMarketingDatabase", &recipients.historyInList)
        var isAudited = recipients.audit != nil
        var table = recipients.audit ?? AuditTable(tableID: "")
        try list.flag("AuditRecord", "mergeHistoryInAuditRecordTable", &isAudited)
        try list.text("AuditRecord", "auditRecordListId", &table.tableID)
        try list.text("AuditRecord", "auditRecordPrimaryKeyColumnName", &table.keyColumn)
        try list.text("AuditRecord", "oldRecipientIdColumnName", &table.oldRecipientColumn)
        try list.text("AuditRecord", "newRecipientIdColumnName", &table.newRecipientColumn)
        try list.text("AuditRecord", "createDateColumnName", &table.dateColumn)
        try read(&table.makeKey, "AuditRecord", "auditRecordPrimaryKeyGeneratorClassName")
        guard !isAudited || !table.tableID.isEmpty else {
            throw list.error("AuditRecord", "auditRecordListId", "needed where mergeHistoryInAuditRecordTable is on")
        }
        recipients.audit = isAudited ? table : nil
    }
}

/// Reads settings of a property list, and remembers which.
private struct PropertyReader {
    let file: String
    private var left: [String: [String: PropertyValue]] = [:]
    private var strange: [String] = []

    init(file: String, groups: [String: PropertyValue]) {
        self.file = file
        for (name, value) in groups {
            if case .group(let values) = value { left[name] = values } else { strange.append(name) }
        }
    }

    var unread: [String] {
        (strange + left.flatMap { group in group.value.keys.map { "\(group.key).\($0)" } }).sorted()
    }

    func error(_ group: String, _ key: String, _ text: String) -> ExperimentationError {
        ExperimentationError(.configuration, "\(file): \(group).\(key): \(text)")
    }

    mutating func skip(_ group: String, _ key: String) { left[group]?[key] = nil }

    private mutating func take(_ group: String, _ key: String) -> PropertyValue? {
        let value = left[group]?[key]
        skip(group, key)
        return value
    }

    /// Replaces a setting with the list's, if the list has it.
    private mutating func read<Value>(
        _ group: String,
        _ key: String,
        _ target: inout Value,
        expecting kind: String,
        _ parse: (PropertyValue) -> Value?
    ) throws(ExperimentationError) {
        guard let value = take(group, key) else { return }
        guard let parsed = parse(value) else { throw error(group, key, "expected \(kind)") }
        target = parsed
    }

    mutating func text(_ group: String, _ key: String, _ target: inout String) throws(ExperimentationError) {
        try read(group, key, &target, expecting: "a text", \.text)
    }

    mutating func texts(_ group: String, _ key: String) throws(ExperimentationError) -> [String]? {
        var texts: [String]?
        try read(group, key, &texts, expecting: "a list of texts") { value in
            guard case .list(let values) = value else { return nil }
            let texts = values.compactMap(\.text)
            guard texts.count == values.count else { return nil }
            return texts
        }
        return texts
    }

    mutating func decimal(_ group: String, _ key: String, _ target: inout Double) throws(ExperimentationError) {
        try read(group, key, &target, expecting: "a number", \.number)
    }

    mutating func number(_ group: String, _ key: String, _ target: inout Int) throws(ExperimentationError) {
        try read(group, key, &target, expecting: "a whole number") { $0.number.flatMap { Int(exactly: $0) } }
    }

    mutating func flag(_ group: String, _ key: String, _ target: inout Bool) throws(ExperimentationError) {
        try read(group, key, &target, expecting: "YES or NO") { value in
            if case .flag(let flag) = value { return flag }
            return ["yes": true, "true": true, "1": true, "no": false, "false": false, "0": false][
                value.text?.lowercased() ?? ""
            ]
        }
    }

    mutating func length(_ group: String, _ key: String, _ target: inout Duration) throws(ExperimentationError) {
        try read(group, key, &target, expecting: "a length such as 5 minutes") { value in
            guard let text = value.text, !text.isEmpty else { return nil }
            let expiration = Expiration(text)
            let isLength = expiration.moment == nil && (expiration.seconds > 0 || expiration.isPrecise)
            return isLength ? expiration.duration : nil
        }
    }
}
