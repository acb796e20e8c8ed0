import AdapterKit
import Experimentation

extension FlagshipConfiguration {
    /// Reads the settings of a configuration file, by `docs/schemas/configuration-flagship.schema.json`.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init(environmentID: try settings.string("environmentID"), apiKey: try settings.secret("apiKey"))
        mode = try settings.choice("mode", default: mode)
        rules = try settings.choice("rules", default: rules)
        endpoints = try settings.section("endpoints") { (section) throws(ExperimentationError) in
            var endpoints = Endpoints.vendor
            endpoints.decision = try section.endpoint("decision", default: endpoints.decision)
            endpoints.cdn = try section.endpoint("cdn", default: endpoints.cdn)
            endpoints.events = try section.endpoint("events", default: endpoints.events)
            return endpoints
        }
        let least = Duration.milliseconds(1)
        timeout = try settings.seconds("timeout", default: timeout, in: least...(.seconds(600)))
        transferTimeout = try settings.seconds(
            "transferTimeout",
            default: transferTimeout,
            in: least...(.seconds(3_600))
        )
        pollingInterval = try settings.seconds("pollingInterval", default: pollingInterval)
        poolSize = try settings.int("poolSize", default: poolSize, in: 1...1_000)
        batchInterval = try settings.seconds("batchInterval", default: batchInterval, in: least...(.seconds(86_400)))
        maximumAge = try settings.seconds("maximumAge", default: maximumAge)
        device = try settings.section("device") { (section) throws(ExperimentationError) in
            var device = FlagshipDevice.current
            device.language = try section.string("language", default: device.language)
            device.type = try section.string("type", default: device.type)
            device.model = try section.string("model", default: device.model)
            device.osName = try section.string("osName", default: device.osName)
            device.osVersion = try section.string("osVersion", default: device.osVersion)
            return device
        }
        retry.attempts = try settings.int("attempts", default: retry.attempts, in: 1...10)
        for name in try settings.strings("reports") {
            guard let kind = FlagshipReports.named[name] else {
                throw settings.error("reports", "expected \"usage\" or \"troubleshooting\"")
            }
            reports.insert(kind)
        }
    }
}
