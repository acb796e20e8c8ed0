import AdapterKit
import Experimentation

extension SigmaConfiguration {
    /// Reads the settings of a configuration file; `docs/schemas/configuration-sigma.schema.json` lists them.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init(projectToken: try settings.secret("projectToken"))
        endpoint = try settings.section("endpoints") { (endpoints) throws(ExperimentationError) in
            try endpoints.endpoint("api", default: Self.vendorEndpoint)
        }
        // Below ten seconds means ten, as in the vendor's SDK; only what can't be a duration is refused.
        cacheLifetime = Self.lifetime(
            try settings.seconds("cacheTTL", default: Self.shortestLifetime, in: .zero...Self.longestLifetime)
        )
        retryCount = try settings.int("retryCount", default: 0, in: 0...Self.mostRetries)
        fetchTimeout = Self.timeout(
            try settings.seconds("fetchTimeout", default: .seconds(60), in: .zero...Self.longestTimeout)
        )
        asksForPlace = try settings.bool("geo", default: true)
        privateID = try settings.optionalString("privateID")
        device = try settings.section("device") { (device) throws(ExperimentationError) in
            var known = SigmaDevice.current
            known.id = try device.optionalString("id") ?? known.id
            known.appVersion = try device.optionalString("appVersion") ?? known.appVersion
            known.osName = try device.optionalString("osName") ?? known.osName
            known.osVersion = try device.optionalString("osVersion") ?? known.osVersion
            return known
        }
    }
}
