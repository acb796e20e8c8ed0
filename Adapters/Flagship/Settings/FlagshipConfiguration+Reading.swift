import AdapterKit
import Experimentation

extension FlagshipConfiguration {
    /// Reads the settings of a configuration file, by `docs/schemas/configuration-flagship.schema.json`.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        let standard = FlagshipConfiguration(environmentID: "", apiKey: Secret(""))
        self.init(
            environmentID: try settings.string("environmentID"),
            apiKey: try settings.secret("apiKey"),
            mode: try settings.choice("mode", default: standard.mode),
            rules: try settings.choice("rules", default: standard.rules),
            endpoints: try settings.section("endpoints") { (section) throws(ExperimentationError) in
                Endpoints(
                    decision: try section.endpoint("decision", default: standard.endpoints.decision),
                    cdn: try section.endpoint("cdn", default: standard.endpoints.cdn),
                    events: try section.endpoint("events", default: standard.endpoints.events)
                )
            },
            timeout: try settings.seconds(
                "timeout",
                default: standard.timeout,
                in: .milliseconds(1)...(.seconds(600))
            ),
            transferTimeout: try settings.seconds(
                "transferTimeout",
                default: standard.transferTimeout,
                in: .milliseconds(1)...(.seconds(3_600))
            ),
            pollingInterval: try settings.seconds("pollingInterval", default: standard.pollingInterval),
            poolSize: try settings.int("poolSize", default: standard.poolSize, in: 1...1_000),
            batchInterval: try settings.seconds(
                "batchInterval",
                default: standard.batchInterval,
                in: .milliseconds(1)...(.seconds(86_400))
            ),
            maximumAge: try settings.seconds("maximumAge", default: standard.maximumAge),
            device: try settings.section("device") { (section) throws(ExperimentationError) in
                FlagshipDevice(
                    language: try section.string("language", default: standard.device.language),
                    type: try section.string("type", default: standard.device.type),
                    model: try section.string("model", default: standard.device.model),
                    osName: try section.string("osName", default: standard.device.osName),
                    osVersion: try section.string("osVersion", default: standard.device.osVersion)
                )
            },
            retry: HTTPRetry(
                attempts: try settings.int("attempts", default: standard.retry.attempts, in: 1...10),
                backoff: standard.retry.backoff
            ),
            reports: try FlagshipReports(reading: &settings)
        )
    }
}

extension FlagshipReports {
    /// Reads the names of the report kinds.
    fileprivate init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self = []
        for name in try settings.strings("reports") {
            switch name {
            case "usage": insert(.usage)
            case "troubleshooting": insert(.troubleshooting)
            default: throw settings.error("reports", "expected \"usage\" or \"troubleshooting\"")
            }
        }
    }
}
