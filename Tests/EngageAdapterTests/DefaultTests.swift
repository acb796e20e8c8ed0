import Experimentation
import Testing

@testable import EngageAdapter

@Suite("Defaults of the reference")
struct DefaultTests {
    /// Every default is the reference's: the one of the README's configuration table where it differs from the SDK's
    /// own file, except for the session time-out, which is five minutes in both samples.
    @Test("every default is the reference's")
    func settings() {
        let c = EngageWorkbench.configuration()
        let (l, r, n, p, a) = (c.location, c.recipients, c.networking, c.parameters, c.attributes)
        let audit = EngageConfiguration.AuditTable(tableID: "1")
        let found: [String: String] = [
            "ubfEventCacheSize": "\(c.batchSize)", "defaultCurrentCampaignExpiration": "\(c.campaignLifetime)",
            "sessionLifecycleExpiration": "\(c.sessionTimeout)", "maxNumRetries": "\(n.attempts)",
            "expireLocalEventsAfterNumDays": "\(c.retentionDays)", "augmentationTimeout": "\(c.augmentation.timeout)",
            "augmentationPluginClasses": "\(c.augmentation.plugins.count)",
            "ParamCampaignValidFor": p.campaignValidFor, "ParamCampaignExpiresAt": p.campaignExpiresAt,
            "ParamCampaignEndTimeStamp": p.campaignEnd, "ParamCurrentCampaign": p.currentCampaign,
            "ParamCallToAction": p.callToAction,
            "UBFSessionDurationFieldName": a.sessionDuration, "UBFTagsFieldName": a.tags,
            "UBFDisplayedMessageFieldName": a.displayedMessage, "UBFCallToActionFieldName": a.callToAction,
            "UBFEventNameFieldName": a.eventName, "UBFGoalNameFieldName": a.goalName,
            "UBFCurrentCampaignFieldName": a.currentCampaign, "UBFLastCampaignFieldName": a.lastCampaign,
            "UBFLocationAddressFieldName": a.locationAddress, "UBFLocationNameFieldName": a.locationName,
            "UBFLatitudeFieldName": a.latitude, "UBFLongitudeFieldName": a.longitude,
            "LocationServices.enabled": "\(l.isEnabled)", "lastKnownLocationDateFormat": l.dateFormat,
            "lastKnownLocationTimestampColumn": l.timestampColumn, "lastKnownLocationColumn": l.addressColumn,
            "locationDistanceFilter": "\(l.distanceFilter)", "locationPrecisionLevel": l.precision.rawValue,
            "locationCacheLifespan": "\(l.cacheLifespan)", "coordinatesPlacemarkTimeout": "\(l.placemarkTimeout)",
            "coordinatesAcquisitionTimeout": "\(l.acquisitionTimeout)",
            "enableAutoAnonymousTracking": "\(r.autoAnonymous)", "mobileUserIdColumn": r.mobileUserIDColumn,
            "mergedRecipientIdColumn": r.mergedRecipientIDColumn, "mergedDateColumn": r.mergedDateColumn,
            "mergeHistoryInMarketingDatabase": "\(r.historyInList)",
            "mergeHistoryInAuditRecordTable": "\(r.audit != nil)",
            "mobileUserIdGeneratorClassName": "\(r.makeID == nil)",
            "auditRecordPrimaryKeyColumnName": audit.keyColumn,
            "auditRecordPrimaryKeyGeneratorClassName": "\(audit.makeKey == nil)",
            "oldRecipientIdColumnName": audit.oldRecipientColumn, "newRecipientIdColumnName": audit.newRecipientColumn,
            "createDateColumnName": audit.dateColumn,
            // Settings that the reference doesn't have.
            "opt-out on denial": "\(r.optsOutOnDenial)", "contactId": "\(c.sendsContactID)",
            "batch interval": "\(c.batchInterval)", "calls at once": "\(n.concurrency)",
        ]
        let expected: [String: String] = [
            "ubfEventCacheSize": "3", "defaultCurrentCampaignExpiration": "86400.0 seconds",
            "sessionLifecycleExpiration": "300.0 seconds", "maxNumRetries": "3",
            "expireLocalEventsAfterNumDays": "30", "augmentationTimeout": "15.0 seconds",
            "augmentationPluginClasses": "0",
            "ParamCampaignValidFor": "CampaignValidFor", "ParamCampaignExpiresAt": "CampaignExpiresAt",
            "ParamCampaignEndTimeStamp": "CampaignEndTimeStamp", "ParamCurrentCampaign": "CurrentCampaign",
            "ParamCallToAction": "CallToAction",
            "UBFSessionDurationFieldName": "Session Duration", "UBFTagsFieldName": "Tags",
            "UBFDisplayedMessageFieldName": "Displayed Message", "UBFCallToActionFieldName": "Call To Action",
            "UBFEventNameFieldName": "Event Name", "UBFGoalNameFieldName": "Goal Name",
            "UBFCurrentCampaignFieldName": "Campaign Name", "UBFLastCampaignFieldName": "Last Campaign",
            "UBFLocationAddressFieldName": "Location Address", "UBFLocationNameFieldName": "Location Name",
            "UBFLatitudeFieldName": "Latitude", "UBFLongitudeFieldName": "Longitude",
            "LocationServices.enabled": "true", "lastKnownLocationDateFormat": "yyyy-MM-dd",
            "lastKnownLocationTimestampColumn": "Last Location Address Time",
            "lastKnownLocationColumn": "Last Location Address", "locationDistanceFilter": "10.0",
            "locationPrecisionLevel": "kCLLocationAccuracyBest", "locationCacheLifespan": "3600.0 seconds",
            "coordinatesPlacemarkTimeout": "15.0 seconds", "coordinatesAcquisitionTimeout": "15.0 seconds",
            "enableAutoAnonymousTracking": "true", "mobileUserIdColumn": "Mobile User Id",
            "mergedRecipientIdColumn": "Merged Recipient Id", "mergedDateColumn": "Merged Date",
            "mergeHistoryInMarketingDatabase": "true", "mergeHistoryInAuditRecordTable": "false",
            "mobileUserIdGeneratorClassName": "true", "auditRecordPrimaryKeyColumnName": "Audit Record Id",
            "auditRecordPrimaryKeyGeneratorClassName": "true", "oldRecipientIdColumnName": "Old Recipient Id",
            "newRecipientIdColumnName": "New Recipient Id", "createDateColumnName": "Create Date",
            "opt-out on denial": "false", "contactId": "true", "batch interval": "30.0 seconds", "calls at once": "8",
        ]
        #expect(found == expected)
    }
}
