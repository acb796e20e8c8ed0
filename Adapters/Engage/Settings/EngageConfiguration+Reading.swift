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
        batchSize = try settings.int("batchSize", default: batchSize, in: 1...100)
        batchInterval = try settings.seconds("batchInterval", default: batchInterval)
        retentionDays = try settings.int("retentionDays", default: retentionDays, in: 1...3650)
        sessionTimeout = try settings.seconds("sessionTimeout", default: sessionTimeout)
        campaignLifetime = try settings.seconds("campaignLifetime", default: campaignLifetime)
        sendsContactID = try settings.bool("sendsContactID", default: sendsContactID)
        parameters = try settings.section("parameters", read: ParameterNames.init(reading:))
        attributes = try settings.section("attributes", read: AttributeNames.init(reading:))
        recipients = try settings.section("recipients", read: Recipients.init(reading:))
        networking = try settings.section("networking", read: Networking.init(reading:))
        location = try settings.section("location", read: Location.init(reading:))
        let names = attributes
        augmentation = try settings.section("augmentation") { section throws(ExperimentationError) in
            try Augmentation(reading: &section, registry: registry, names: names)
        }
        device = try settings.section("device", read: EngageDevice.init(reading:))
        do throws(ExperimentationError) {
            try validate()
        } catch {
            throw error.about(settings.file, as: .configuration)
        }
    }
}

extension EngageConfiguration.ParameterNames {
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        currentCampaign = try settings.string("currentCampaign", default: currentCampaign)
        campaignExpiresAt = try settings.string("campaignExpiresAt", default: campaignExpiresAt)
        campaignEnd = try settings.string("campaignEnd", default: campaignEnd)
        campaignValidFor = try settings.string("campaignValidFor", default: campaignValidFor)
        callToAction = try settings.string("callToAction", default: callToAction)
    }
}

extension EngageConfiguration.AttributeNames {
    /// The names by their settings; a property list has them as `UBFSessionDurationFieldName` and so on.
    static let settings: [(key: String, path: any WritableKeyPath<Self, String> & Sendable)] = [
        ("sessionDuration", \.sessionDuration), ("tags", \.tags), ("displayedMessage", \.displayedMessage),
        ("callToAction", \.callToAction), ("eventName", \.eventName), ("goalName", \.goalName),
        ("currentCampaign", \.currentCampaign), ("lastCampaign", \.lastCampaign),
        ("locationAddress", \.locationAddress), ("locationName", \.locationName), ("latitude", \.latitude),
        ("longitude", \.longitude),
    ]

    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        for (key, path) in Self.settings {
            self[keyPath: path] = try settings.string(key, default: self[keyPath: path])
        }
    }
}

extension EngageConfiguration.Recipients {
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        autoAnonymous = try settings.bool("autoAnonymous", default: autoAnonymous)
        mobileUserIDColumn = try settings.string("mobileUserIDColumn", default: mobileUserIDColumn)
        mergedRecipientIDColumn = try settings.string("mergedRecipientIDColumn", default: mergedRecipientIDColumn)
        mergedDateColumn = try settings.string("mergedDateColumn", default: mergedDateColumn)
        historyInList = try settings.bool("historyInList", default: historyInList)
        optsOutOnDenial = try settings.bool("optsOutOnDenial", default: optsOutOnDenial)
        guard settings.has("audit") else { return }
        audit = try settings.section("audit") { section throws(ExperimentationError) in
            var table = EngageConfiguration.AuditTable(tableID: try section.string("tableID"))
            table.keyColumn = try section.string("keyColumn", default: table.keyColumn)
            table.oldRecipientColumn = try section.string("oldRecipientColumn", default: table.oldRecipientColumn)
            table.newRecipientColumn = try section.string("newRecipientColumn", default: table.newRecipientColumn)
            table.dateColumn = try section.string("dateColumn", default: table.dateColumn)
            return table
        }
    }
}

extension EngageConfiguration.Networking {
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        attempts = try settings.int("attempts", default: attempts, in: 1...100)
        timeout = try settings.seconds("timeout", default: timeout)
        patience = try settings.seconds("patience", default: patience)
        concurrency = try settings.int("concurrency", default: concurrency, in: 1...10)
        firstBackoff = try settings.seconds("firstBackoff", default: firstBackoff)
        longestBackoff = try settings.seconds("longestBackoff", default: longestBackoff)
        responseBytes = try settings.int("responseBytes", default: responseBytes, in: 1024...(1 << 30))
    }
}

extension EngageConfiguration.Location {
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init()
        isEnabled = try settings.bool("enabled", default: isEnabled)
        dateFormat = try settings.string("dateFormat", default: dateFormat)
        timestampColumn = try settings.string("timestampColumn", default: timestampColumn)
        addressColumn = try settings.string("addressColumn", default: addressColumn)
        distanceFilter = try settings.double("distanceFilter", default: distanceFilter, in: 0...40_000_000)
        precision = try settings.optionalChoice("precision") ?? precision
        cacheLifespan = try settings.seconds("cacheLifespan", default: cacheLifespan)
        placemarkTimeout = try settings.seconds("placemarkTimeout", default: placemarkTimeout)
        acquisitionTimeout = try settings.seconds("acquisitionTimeout", default: acquisitionTimeout)
    }
}

extension EngageConfiguration.Augmentation {
    init(
        reading settings: inout SettingsReader,
        registry: EngageRegistry,
        names: EngageConfiguration.AttributeNames
    ) throws(ExperimentationError) {
        self.init()
        timeout = try settings.seconds("timeout", default: timeout)
        for name in try settings.strings("plugins") {
            guard let named = registry.plugins(named: name, attributes: names) else {
                throw settings.error("plugins", "no plug-in is registered as \(name)")
            }
            plugins += named
        }
    }
}

extension EngageDevice {
    init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self = .current
        name = try settings.string("name", default: name)
        version = try settings.string("version", default: version)
        osName = try settings.string("osName", default: osName)
        osVersion = try settings.string("osVersion", default: osVersion)
        appName = try settings.string("appName", default: appName)
        appVersion = try settings.string("appVersion", default: appVersion)
        id = try settings.optionalString("id")
    }
}
