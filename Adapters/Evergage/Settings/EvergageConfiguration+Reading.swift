import AdapterKit
import Experimentation

extension EvergageConfiguration {
    /// Reads the settings of a configuration file.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading reader: inout SettingsReader) throws(ExperimentationError) {
        let address = try reader.optionalEndpoint("baseURL")
        let base = try reader.section("endpoints") { (endpoints) throws(ExperimentationError) in
            try endpoints.optionalEndpoint("base")
        }
        let account = try reader.string("account")
        let dataset = try reader.string("dataset")
        self = try reader.made { () throws(ExperimentationError) in
            try Self(account: account, dataset: dataset, endpoint: base ?? address)
        }
        channel = try reader.string("channel", default: channel)
        application = try reader.string("application", default: application)
        locale = try reader.optionalString("locale")
        usePushNotifications = try reader.bool("usePushNotifications", default: usePushNotifications)
        useDesignMode = try reader.bool("useDesignMode", default: useDesignMode)
        usesRemoteConfiguration = try reader.bool("usesRemoteConfiguration", default: usesRemoteConfiguration)
        timeout = try reader.seconds("timeout", default: timeout)
        campaignAge = try reader.seconds("campaignAge", default: campaignAge)
        maximumAge = try reader.seconds("maximumAge", default: maximumAge)
        if let requests = try reader.optionalInt("requestsPerFiveSeconds", in: 0...10_000) {
            pace = requests == 0 ? nil : .init(requests: requests, per: .seconds(5))
        }
        try reader.made(validate)
    }
}
