import AdapterKit
import Experimentation

extension OFREPConfiguration {
    /// Reads the settings of a configuration file; `docs/schemas/configuration-ofrep.schema.json` lists them.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        // The output of `xp mock` holds the addresses in a section of their own.
        let mock = try settings.section("endpoints") { (section) throws(ExperimentationError) in
            try section.optionalEndpoint("baseURL")
        }
        let written = try settings.optionalEndpoint("baseURL")
        guard let baseURL = written ?? mock else {
            throw settings.error("baseURL", "missing; expected an https address")
        }
        let standard = OFREPConfiguration(baseURL: baseURL)
        self.init(
            baseURL: baseURL,
            token: try settings.optionalSecret("token"),
            apiKey: try settings.optionalSecret("apiKey"),
            headers: try Self.headers(&settings),
            changes: try settings.choice("changes", default: standard.changes),
            pollingInterval: try settings.seconds(
                "pollingInterval",
                default: standard.pollingInterval,
                in: .seconds(1)...(.seconds(86_400))
            ),
            timeout: try settings.seconds(
                "timeout",
                default: standard.timeout,
                in: .milliseconds(1)...(.seconds(600))
            ),
            retry: HTTPRetry(
                attempts: try settings.int("attempts", default: standard.retry.attempts, in: 1...10),
                backoff: standard.retry.backoff,
                statuses: standard.retry.statuses
            ),
            eventsPath: try settings.optionalString("events")
        )
    }

    private static func headers(
        _ settings: inout SettingsReader
    ) throws(ExperimentationError) -> [String: Secret] {
        guard let names = settings.value("headers")?.objectValue?.keys else {
            // Reads it as a section so that the reader throws its own error about the type.
            _ = try settings.section("headers")
            return [:]
        }
        return try settings.section("headers") { (section) throws(ExperimentationError) in
            var headers: [String: Secret] = [:]
            for name in names { headers[name] = try section.optionalSecret(name) }
            return headers
        }
    }
}
