import AdapterKit
import Experimentation

extension EngageConfiguration {
    /// Checks the settings as far as possible without the vendor.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the setting.
    public func validate() throws(ExperimentationError) {
        try demand(!credentials.clientID.isEmpty, "clientID must not be empty")
        try demand(!credentials.clientSecret.reveal().isEmpty, "clientSecret must not be empty")
        try demand(!credentials.refreshToken.reveal().isEmpty, "refreshToken must not be empty")
        try demand((1...100).contains(batchSize), "batchSize must be from 1 to 100")
        try demand(networking.attempts >= 1, "networking.attempts must be at least 1")
        try demand((1...10).contains(networking.concurrency), "networking.concurrency must be from 1 to 10")
        try demand(networking.timeout > .zero, "networking.timeout must be above zero")
        try demand(networking.firstBackoff > .zero, "networking.firstBackoff must be above zero")
        try demand(networking.longestBackoff > .zero, "networking.longestBackoff must be above zero")
        try demand(networking.patience >= .zero, "networking.patience must not be negative")
        try demand(networking.responseBytes > 0, "networking.responseBytes must be above zero")
        try demand(batchInterval >= .zero, "batchInterval must not be negative")
        try demand((1...3650).contains(retentionDays), "retentionDays must be from 1 to 3650")
        try demand(augmentation.timeout >= .zero, "augmentation.timeout must not be negative")
        try demand(sessionTimeout >= .zero, "sessionTimeout must not be negative")
        try demand(campaignLifetime >= .zero, "campaignLifetime must not be negative")
        try demand(location.distanceFilter >= 0, "location.distanceFilter must not be negative")
        try demand(location.cacheLifespan >= .zero, "location.cacheLifespan must not be negative")
        try demand(location.placemarkTimeout >= .zero, "location.placemarkTimeout must not be negative")
        try demand(location.acquisitionTimeout >= .zero, "location.acquisitionTimeout must not be negative")
    }

    /// Checks the settings for merges.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    func validateMerging() throws(ExperimentationError) {
        try validateRecipients()
        if recipients.historyInList {
            try demand(
                !recipients.mergedDateColumn.isEmpty && !recipients.mergedRecipientIDColumn.isEmpty,
                "recipients.mergedDateColumn and recipients.mergedRecipientIDColumn must not be empty"
            )
        }
        if let audit = recipients.audit {
            try demand(!audit.tableID.isEmpty, "recipients.audit.tableID must not be empty")
            let columns = [audit.keyColumn, audit.oldRecipientColumn, audit.newRecipientColumn, audit.dateColumn]
            try demand(!columns.contains(""), "recipients.audit: no column's name may be empty")
        }
    }

    /// Checks the settings for recipients.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the setting.
    func validateRecipients() throws(ExperimentationError) {
        try demand(!listID.isEmpty, "listID must not be empty")
        try demand(!recipients.mobileUserIDColumn.isEmpty, "recipients.mobileUserIDColumn must not be empty")
    }

    private func demand(_ isGood: Bool, _ text: String) throws(ExperimentationError) {
        guard isGood else { throw ExperimentationError(.configuration, text) }
    }
}
