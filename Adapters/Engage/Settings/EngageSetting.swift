/// A setting by its place in the configuration, with its key in configuration files and, if the reference knows it,
/// its group and key in property lists.
enum EngageSetting: Sendable {
    typealias Path<Value> = any WritableKeyPath<EngageConfiguration, Value> & Sendable

    case text(Path<String>, String, String? = nil)
    case flag(Path<Bool>, String, String? = nil)
    /// A whole number, which configuration files may set within a range.
    case count(Path<Int>, String, in: ClosedRange<Int>, String? = nil)
    /// A number, which configuration files may set within a range.
    case decimal(Path<Double>, String, in: ClosedRange<Double>, String? = nil)
    /// A length of time: in seconds in configuration files, as parsed by ``Expiration`` in property lists.
    case length(Path<Duration>, String, String? = nil)

    /// The settings outside sections.
    static let general: [EngageSetting] = [
        .count(\.batchSize, "batchSize", in: 1...100, "General.ubfEventCacheSize"),
        .length(\.batchInterval, "batchInterval"),
        .count(\.retentionDays, "retentionDays", in: 1...3650, "LocalEventStore.expireLocalEventsAfterNumDays"),
        .length(\.sessionTimeout, "sessionTimeout", "Session.sessionLifecycleExpiration"),
        .length(\.campaignLifetime, "campaignLifetime", "General.defaultCurrentCampaignExpiration"),
        .flag(\.sendsContactID, "sendsContactID"),
    ]

    static let parameters: [EngageSetting] = [
        .text(\.parameters.currentCampaign, "currentCampaign", "ParamFieldNames.ParamCurrentCampaign"),
        .text(\.parameters.campaignExpiresAt, "campaignExpiresAt", "ParamFieldNames.ParamCampaignExpiresAt"),
        .text(\.parameters.campaignEnd, "campaignEnd", "ParamFieldNames.ParamCampaignEndTimeStamp"),
        .text(\.parameters.campaignValidFor, "campaignValidFor", "ParamFieldNames.ParamCampaignValidFor"),
        .text(\.parameters.callToAction, "callToAction", "ParamFieldNames.ParamCallToAction"),
    ]

    static let attributes: [EngageSetting] = [
        .text(\.attributes.sessionDuration, "sessionDuration", "UBFFieldNames.UBFSessionDurationFieldName"),
        .text(\.attributes.tags, "tags", "UBFFieldNames.UBFTagsFieldName"),
        .text(\.attributes.displayedMessage, "displayedMessage", "UBFFieldNames.UBFDisplayedMessageFieldName"),
        .text(\.attributes.callToAction, "callToAction", "UBFFieldNames.UBFCallToActionFieldName"),
        .text(\.attributes.eventName, "eventName", "UBFFieldNames.UBFEventNameFieldName"),
        .text(\.attributes.goalName, "goalName", "UBFFieldNames.UBFGoalNameFieldName"),
        .text(\.attributes.currentCampaign, "currentCampaign", "UBFFieldNames.UBFCurrentCampaignFieldName"),
        .text(\.attributes.lastCampaign, "lastCampaign", "UBFFieldNames.UBFLastCampaignFieldName"),
        .text(\.attributes.locationAddress, "locationAddress", "UBFFieldNames.UBFLocationAddressFieldName"),
        .text(\.attributes.locationName, "locationName", "UBFFieldNames.UBFLocationNameFieldName"),
        .text(\.attributes.latitude, "latitude", "UBFFieldNames.UBFLatitudeFieldName"),
        .text(\.attributes.longitude, "longitude", "UBFFieldNames.UBFLongitudeFieldName"),
    ]

    static let recipients: [EngageSetting] = [
        .flag(\.recipients.autoAnonymous, "autoAnonymous", "Recipient.enableAutoAnonymousTracking"),
        .text(\.recipients.mobileUserIDColumn, "mobileUserIDColumn", "Recipient.mobileUserIdColumn"),
        .text(\.recipients.mergedRecipientIDColumn, "mergedRecipientIDColumn", "Recipient.mergedRecipientIdColumn"),
        .text(\.recipients.mergedDateColumn, "mergedDateColumn", "Recipient.mergedDateColumn"),
        .flag(\.recipients.historyInList, "historyInList", "Recipient.mergeHistoryInMarketingDatabase"),
        .flag(\.recipients.optsOutOnDenial, "optsOutOnDenial"),
    ]

    static let networking: [EngageSetting] = [
        .count(\.networking.attempts, "attempts", in: 1...100, "Networking.maxNumRetries"),
        .length(\.networking.timeout, "timeout"),
        .length(\.networking.patience, "patience"),
        .count(\.networking.concurrency, "concurrency", in: 1...10),
        .length(\.networking.firstBackoff, "firstBackoff"),
        .length(\.networking.longestBackoff, "longestBackoff"),
        .count(\.networking.responseBytes, "responseBytes", in: 1024...(1 << 30)),
    ]

    static let location: [EngageSetting] = [
        .flag(\.location.isEnabled, "enabled", "LocationServices.enabled"),
        .text(\.location.dateFormat, "dateFormat", "LocationServices.lastKnownLocationDateFormat"),
        .text(\.location.timestampColumn, "timestampColumn", "LocationServices.lastKnownLocationTimestampColumn"),
        .text(\.location.addressColumn, "addressColumn", "LocationServices.lastKnownLocationColumn"),
        .decimal(
            \.location.distanceFilter,
            "distanceFilter",
            in: 0...40_000_000,
            "LocationServices.locationDistanceFilter"
        ),
        .length(\.location.cacheLifespan, "cacheLifespan", "LocationServices.locationCacheLifespan"),
        .length(\.location.placemarkTimeout, "placemarkTimeout", "LocationServices.coordinatesPlacemarkTimeout"),
        .length(\.location.acquisitionTimeout, "acquisitionTimeout", "LocationServices.coordinatesAcquisitionTimeout"),
    ]

    static let augmentation: [EngageSetting] = [
        .length(\.augmentation.timeout, "timeout", "Augmentation.augmentationTimeout")
    ]

    static let device: [EngageSetting] = [
        .text(\.device.name, "name"),
        .text(\.device.version, "version"),
        .text(\.device.osName, "osName"),
        .text(\.device.osVersion, "osVersion"),
        .text(\.device.appName, "appName"),
        .text(\.device.appVersion, "appVersion"),
    ]

    /// The settings that property lists have.
    static let listed = [general, parameters, attributes, recipients, networking, location, augmentation].joined()
}

extension EngageConfiguration.AuditTable {
    /// The columns with their keys in configuration files and property lists.
    static let columns: [(path: any WritableKeyPath<Self, String> & Sendable, key: String, listed: String)] = [
        (\.keyColumn, "keyColumn", "AuditRecord.auditRecordPrimaryKeyColumnName"),
        (\.oldRecipientColumn, "oldRecipientColumn", "AuditRecord.oldRecipientIdColumnName"),
        (\.newRecipientColumn, "newRecipientColumn", "AuditRecord.newRecipientIdColumnName"),
        (\.dateColumn, "dateColumn", "AuditRecord.createDateColumnName"),
    ]
}
