import AdapterKit
import Experimentation

/// Where a ``WebhookProvider`` sends, and how it signs.
public struct WebhookConfiguration: Sendable, Hashable {
    /// The URL that receives batches.
    public var endpoint: Endpoint
    /// The key of signatures; `nil` to send none.
    ///
    /// After the prefix `whsec_`, the secret is Base64; otherwise its UTF-8 bytes are the key.
    public var secret: Secret?
    /// The maximum duration of a request.
    public var timeout: Duration
    /// Whether events wait until their user consents.
    public var needsConsent: Bool
    /// When events are sent.
    public var batching: BatchPolicy

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - endpoint: The URL that receives batches.
    ///   - secret: The key of signatures.
    public init(endpoint: Endpoint, secret: Secret? = nil) {
        self.endpoint = endpoint
        self.secret = secret
        timeout = .seconds(10)
        needsConsent = false
        batching = BatchPolicy(count: 20, largest: 100, bytes: 1_000_000, interval: .seconds(5), attempts: 5)
    }

    /// Reads the settings of a configuration file; `docs/schemas/configuration-webhook.schema.json` lists them.
    ///
    /// - Throws: `ErrorCode.configuration`, naming the file, the key and what was expected.
    public init(reading settings: inout SettingsReader) throws(ExperimentationError) {
        self.init(endpoint: try settings.endpoint("endpoint"), secret: try settings.optionalSecret("secret"))
        timeout = try settings.seconds("timeout", default: timeout, in: .milliseconds(10)...(.seconds(600)))
        needsConsent = try settings.bool("needsConsent", default: needsConsent)
        try batching.read(&settings)
    }

    func validate() throws(ExperimentationError) {
        if timeout <= .zero { throw ExperimentationError(.configuration, "timeout: expected a time greater than zero") }
        if secret != nil, key == nil {
            throw ExperimentationError(.configuration, "secret: what follows whsec_ must be Base64, and not empty")
        }
    }
}
